import Query

extension StorageError {
  /// Any error as a storage error.
  package init(any error: any Error, operation: String) {
    self =
      error as? StorageError ?? (error as? OpeningFailure)?.error
      ?? StorageError(operation: operation, code: .error, message: "\(error)")
  }

  private static let replacing = "replace"

  /// Whether other processes are busy with a sound file, so that it is worth waiting for.
  var isOfBusyFile: Bool { self.code == .busy && self.operation != Self.replacing }

  /// A damaged file cannot be replaced yet.
  ///
  /// - Parameters:
  ///   - kind: Which file.
  ///   - damage: What is wrong with it; nil if only the process that left it behind knew.
  static func damagedAndInUse(_ kind: DatabaseKind, _ damage: StorageError?) -> StorageError {
    let what = damage.map { " (\($0.message))" } ?? ""
    return StorageError(
      operation: Self.replacing, code: .busy,
      message: """
        the file is damaged\(what), and another process has it open; it is replaced after that
        """,
      fileName: kind.fileName)
  }

  /// Whether the file is damaged, or not a database: according to SQLite, or because a statement
  /// finds other tables, types or rows than any release has made.
  package var isDamage: Bool {
    switch self.code {
    case .corrupt, .notADatabase, .mismatch, .constraint: true
    case .error: self.operation == "prepare" || self.message.hasSuffix("already exists")
    default: false
    }
  }

  /// Whether the outbox is damaged, or not a database. Not a constraint: that is a bug of this
  /// library, and the user's data must stay where it is.
  var isOutboxDamage: Bool {
    switch self.code {
    case .corrupt, .notADatabase, .mismatch: true
    case .error: self.operation == "prepare"
    default: false
    }
  }

  /// Whether a file of this kind is damaged.
  func isDamage(of kind: DatabaseKind) -> Bool {
    kind == .cache ? self.isDamage : self.isOutboxDamage
  }
}

extension StorageError.Code {
  /// Whether SQLite found the damage in the pages it read. A statement finds all other damage in
  /// sound pages.
  var isOfPages: Bool { self == .corrupt || self == .notADatabase }

  /// `SQLITE_CORRUPT_INDEX`: an index and its table disagree.
  static let wrongIndex = Self(rawValue: 779)

  /// `SQLITE_READONLY_DBMOVED`: there is another file at the path.
  static let moved = Self(rawValue: 1_032)
}
