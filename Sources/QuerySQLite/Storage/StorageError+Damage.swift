import Query

extension StorageError {
  /// Any error as a storage error.
  init(any error: any Error, operation: String) {
    self =
      error as? StorageError ?? (error as? OpeningFailure)?.error
      ?? StorageError(operation: operation, code: .error, message: "\(error)")
  }

  /// A damaged file cannot be replaced yet.
  ///
  /// - Parameters:
  ///   - kind: Which file.
  ///   - damage: What is wrong with it; nil if only the process that left it behind knew.
  static func damagedAndInUse(_ kind: DatabaseKind, _ damage: StorageError?) -> StorageError {
    let what = damage.map { " (\($0.message))" } ?? ""
    return StorageError(
      operation: "open", code: .busy,
      message: """
        the file is damaged\(what), and another process has it open; it is replaced after that
        """,
      fileName: kind.fileName)
  }

  /// Whether the file is damaged, or not a database: according to SQLite, or because a statement
  /// finds other tables, types or rows than any release has made.
  var isDamage: Bool {
    switch self.code {
    case .corrupt, .notADatabase, .mismatch, .constraint: true
    case .error: self.operation == "prepare" || self.message.hasSuffix("already exists")
    default: false
    }
  }
}

extension StorageError.Code {
  /// Whether SQLite found the damage in the pages it read. A statement finds all other damage in
  /// sound pages.
  var isOfPages: Bool { self == .corrupt || self == .notADatabase }

  /// `SQLITE_READONLY_DBMOVED`: there is another file at the path.
  static let moved = Self(rawValue: 1_032)
}
