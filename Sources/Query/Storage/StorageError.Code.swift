extension StorageError {
  /// A result code of SQLite, primary or extended. The set is open: SQLite adds codes.
  ///
  /// A primary code in a `catch` or `case` matches an error with any of its extended codes, an
  /// extended one matches itself.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// SQLite's number.
    public let rawValue: Int32

    /// Creates a code from SQLite's number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The primary code of an extended one.
    public var primary: Code { Code(rawValue: self.rawValue & 0xff) }

    /// Whether an error is a ``StorageError`` with this code; a primary code also matches its
    /// extended codes.
    public static func ~= (code: Code, error: any Error) -> Bool {
      guard let error = error as? StorageError else { return false }
      return code ~= error.extendedCode
    }

    /// Whether a code is this one; a primary code also matches its extended codes.
    public static func ~= (pattern: Code, code: Code) -> Bool {
      pattern == code || pattern == code.primary
    }
  }
}

// MARK: - Primary codes

extension StorageError.Code {
  /// A mistake in SQL or a missing database.
  public static let error = Self(rawValue: 1)
  /// The file may not be used so.
  public static let permission = Self(rawValue: 3)
  /// Another connection holds the lock.
  public static let busy = Self(rawValue: 5)
  /// The same connection holds the lock.
  public static let locked = Self(rawValue: 6)
  /// There is no memory left.
  public static let noMemory = Self(rawValue: 7)
  /// The file or its folder cannot be written.
  public static let readOnly = Self(rawValue: 8)
  /// The operation was interrupted.
  public static let interrupted = Self(rawValue: 9)
  /// The system failed to read or write.
  public static let inputOutput = Self(rawValue: 10)
  /// The file is damaged.
  public static let corrupt = Self(rawValue: 11)
  /// The disk is full.
  public static let full = Self(rawValue: 13)
  /// The file cannot be opened.
  public static let cannotOpen = Self(rawValue: 14)
  /// The schema is not the expected one.
  public static let schema = Self(rawValue: 17)
  /// A value is larger than allowed.
  public static let tooBig = Self(rawValue: 18)
  /// A constraint of the schema was violated.
  public static let constraint = Self(rawValue: 19)
  /// A column holds a value of an unexpected type.
  public static let mismatch = Self(rawValue: 20)
  /// The storage was used in a way that it does not allow, as after it was closed.
  public static let misuse = Self(rawValue: 21)
  /// The file is no SQLite database.
  public static let notADatabase = Self(rawValue: 26)
}

// MARK: - Extended codes

extension StorageError.Code {
  /// A transaction that began with a read cannot write, because another connection wrote meanwhile.
  public static let busySnapshot = Self(rawValue: 517)
}

extension StorageError.Code: CustomStringConvertible {
  public var description: String {
    self == self.primary
      ? "SQLite \(self.rawValue)" : "SQLite \(self.primary.rawValue), extended \(self.rawValue)"
  }
}
