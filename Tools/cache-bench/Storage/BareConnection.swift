import CSQLite
import Foundation
import Query

/// A connection as a plain C program has it.
// @unchecked: the rounds of a row run one after another.
final class BareConnection: @unchecked Sendable {
  private let handle: OpaquePointer
  private var statements = [OpaquePointer]()
  private var begin: BareStatement?
  private var commit: BareStatement?

  /// How safe a commit is.
  enum Synchronous: String {
    /// A commit survives the end of the process.
    case normal = "NORMAL"
    /// A commit survives a power cut.
    case full = "FULL"
  }

  /// Opens a file, and makes it if there is none.
  ///
  /// - Throws: ``CheckFailure``.
  init(path: String, _ synchronous: Synchronous, pragmas: [String] = []) throws {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    let result = sqlite3_open_v2(path, &handle, flags, nil)
    guard result == SQLITE_OK, let handle else { throw CheckFailure(description: "no \(path)") }
    self.handle = handle
    try self.execute("PRAGMA journal_mode = WAL")
    try self.execute("PRAGMA synchronous = \(synchronous.rawValue)")
    for pragma in pragmas { try self.execute("PRAGMA \(pragma)") }
    self.begin = try self.prepare("BEGIN IMMEDIATE")
    self.commit = try self.prepare("COMMIT")
  }

  deinit {
    for statement in self.statements { sqlite3_finalize(statement) }
    sqlite3_close(self.handle)
  }

  func execute(_ sql: String) throws {
    try self.check(sqlite3_exec(self.handle, sql, nil, nil, nil))
  }

  /// A statement that lives as long as the connection.
  func prepare(_ sql: String) throws -> BareStatement {
    var statement: OpaquePointer?
    try self.check(sqlite3_prepare_v2(self.handle, sql, -1, &statement, nil))
    guard let statement else { throw CheckFailure(description: "no statement: \(sql)") }
    self.statements.append(statement)
    return BareStatement(handle: statement)
  }

  /// The statements of all steps, each of which is its text.
  func prepare<Step>(_ steps: Step.Type) throws -> [Step: BareStatement]
  where Step: RawRepresentable<String> & CaseIterable & Hashable {
    try Dictionary(
      uniqueKeysWithValues: steps.allCases.map { ($0, try self.prepare($0.rawValue)) })
  }

  /// Does something in one transaction.
  func transaction<R>(_ body: () throws -> R) throws -> R {
    try self.begin?.run()
    let result = try body()
    try self.commit?.run()
    return result
  }

  /// The number of the row that was added last.
  var lastInsertedID: Int64 { sqlite3_last_insert_rowid(self.handle) }

  /// How many rows the last statement has changed.
  var changes: Int { Int(sqlite3_changes(self.handle)) }

  /// The bytes that were appended to the WAL since the file was opened.
  func bytesWritten() throws -> Int {
    var (pages, highest) = (Int32(0), Int32(0))
    let option = SQLITE_DBSTATUS_CACHE_WRITE
    try self.check(sqlite3_db_status(self.handle, option, &pages, &highest, 0))
    return Int(pages) * (4096 + 24)
  }

  private func check(_ result: Int32) throws {
    if result == SQLITE_OK { return }
    throw CheckFailure(description: "SQLite: \(String(cString: sqlite3_errmsg(self.handle)))")
  }
}

/// A prepared statement of a ``BareConnection``.
struct BareStatement {
  fileprivate let handle: OpaquePointer

  /// How many values it takes.
  var parameterCount: Int { Int(sqlite3_bind_parameter_count(self.handle)) }

  func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(self.handle, index, value) }

  func bind(_ text: String, at index: Int32) {
    csqlite_bind_text(self.handle, index, text, UInt64(text.utf8.count))
  }

  func bind(_ bytes: some ContiguousBytes, at index: Int32) {
    bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      _ = csqlite_bind_bytes(self.handle, index, start, UInt64(bytes.count))
    }
  }

  func bindNothing(at index: Int32) { sqlite3_bind_null(self.handle, index) }

  /// Steps to the next row.
  ///
  /// - Returns: Whether there is one.
  /// - Throws: ``CheckFailure``.
  func step() throws -> Bool {
    let result = sqlite3_step(self.handle)
    if result == SQLITE_ROW { return true }
    if result == SQLITE_DONE { return false }
    let message = sqlite3_errmsg(sqlite3_db_handle(self.handle))
    throw CheckFailure(description: "SQLite: \(message.map { String(cString: $0) } ?? "")")
  }

  /// Lets it begin anew.
  func reset() { sqlite3_reset(self.handle) }

  /// Does all of it at once.
  func run() throws {
    defer { self.reset() }
    _ = try self.step()
  }

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(self.handle, column) }

  func text(_ column: Int32) -> String {
    sqlite3_column_text(self.handle, column).map { String(cString: $0) } ?? ""
  }

  /// nil if it is NULL.
  func bytes(_ column: Int32) -> Data? {
    guard let bytes = sqlite3_column_blob(self.handle, column) else { return nil }
    return Data(bytes: bytes, count: Int(sqlite3_column_bytes(self.handle, column)))
  }

  /// A column of the only row of a key.
  ///
  /// - Throws: ``CheckFailure``.
  func value(at key: String, column: Int32) throws -> Data {
    defer { self.reset() }
    self.bind(key, at: 1)
    guard try self.step(), let value = self.bytes(column)
    else { throw CheckFailure(description: "an entry is missing") }
    return value
  }

  /// The first columns of the rows of a range of keys.
  ///
  /// - Throws: ``CheckFailure``.
  func values(from lower: String, to upper: String) throws -> [Data] {
    self.bind(lower, at: 1)
    self.bind(upper, at: 2)
    return try self.all()
  }

  /// The first columns of all rows.
  func all() throws -> [Data] {
    defer { self.reset() }
    var values = [Data]()
    while try self.step() { if let value = self.bytes(0) { values.append(value) } }
    return values
  }
}
