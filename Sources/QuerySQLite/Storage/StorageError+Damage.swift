import Query

extension StorageError {
  /// An error of any kind as one of a storage.
  init(any error: any Error, operation: String) {
    self =
      error as? StorageError ?? (error as? OpeningFailure)?.error
      ?? StorageError(operation: operation, code: .error, message: "\(error)")
  }

  /// Whether the file is damaged, or no database: SQLite says so, or a statement finds other tables,
  /// other types or other rows than any release has made.
  var isDamage: Bool {
    switch self.code {
    case .corrupt, .notADatabase, .mismatch, .constraint: true
    case .error: self.operation == "prepare" || self.message.hasSuffix("already exists")
    default: false
    }
  }
}

extension StorageError.Code {
  /// Whether SQLite says it of the pages that it reads. All else that is damage a statement has found
  /// in sound pages.
  var isOfPages: Bool { self == .corrupt || self == .notADatabase }

  /// `SQLITE_READONLY_DBMOVED`: another file is at the path.
  static let moved = Self(rawValue: 1_032)
}
