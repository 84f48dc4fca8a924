/// An error of a storage, in SQLite's words if it comes from SQLite.
///
/// ```swift
/// do {
///   try await store.enqueue(with: arguments)
/// } catch StorageError.Code.full {
///   // the disk is full, nothing was sent
/// }
/// ```
/// It never shows a value that the storage holds, except in ``expandedSQL`` if the configuration
/// enables that.
public struct StorageError: Error, Hashable, Sendable {
  /// The storage's operation, as `"open"` or `"commit"`.
  public let operation: String

  /// SQLite's extended result code, as 266 (`SQLITE_IOERR_READ`); equal to ``code`` if there is
  /// nothing finer to say.
  public let extendedCode: Code

  /// What happened, for a person.
  public let message: String

  /// The statement that failed, with `?` in the place of each value.
  public let sql: String?

  /// The statement that failed, with the values in their places, if the storage's configuration
  /// enables that.
  public let expandedSQL: String?

  /// The name of the database file, without its folder.
  public let fileName: String?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - operation: The storage's operation.
  ///   - code: The primary or extended result code.
  ///   - message: What happened, for people to read.
  ///   - sql: The statement that failed, without values.
  ///   - expandedSQL: The statement that failed, with its values.
  ///   - fileName: The name of the database file.
  public init(
    operation: String,
    code: Code,
    message: String,
    sql: String? = nil,
    expandedSQL: String? = nil,
    fileName: String? = nil
  ) {
    self.operation = operation
    self.extendedCode = code
    self.message = message
    self.sql = sql
    self.expandedSQL = expandedSQL
    self.fileName = fileName
  }

  /// SQLite's primary result code, as 10 (`SQLITE_IOERR`).
  public var code: Code { self.extendedCode.primary }
}

// MARK: - Description

extension StorageError: CustomStringConvertible {
  /// What failed, why, and what to do about it.
  public var description: String {
    let place = self.fileName.map { " \($0)" } ?? ""
    let statement = (self.expandedSQL ?? self.sql).map { ": \($0)" } ?? ""
    // A message of the library's own may say what to do, behind a semicolon.
    let remedy = self.message.contains(";") ? "" : self.remedy.map { "; \($0)" } ?? ""
    return """
      \(self.operation)\(place) failed, \(self.message)\(remedy) (\(self.extendedCode))\(statement)
      """
  }

  private var remedy: String? {
    switch self.code {
    case .full: "free some space on it"
    case .busy, .locked: "try again when the other one is done"
    case .permission, .readOnly, .cannotOpen: "look who may write the file and its folder"
    case .inputOutput: "look at the disk"
    case .corrupt: "open the storage again, which keeps what can be read"
    case .noMemory: "try again with more memory"
    case .misuse where self.message.hasSuffix(" is closed"): "open another one"
    default: nil
    }
  }
}
