import CSQLite
import Foundation
import Query

/// An entry that C writes.
struct BareEntry {
  let hash: [UInt8]
  let identity: String
  let value: Data
}

/// The database of a corpus as a C program would use it: prepared statements on the same tables,
/// with the pragmas that the storage has.
// @unchecked: the rounds of a row run one after another.
final class BareDatabase: @unchecked Sendable {
  private let handle: OpaquePointer
  private let reading: OpaquePointer
  private let writing: OpaquePointer
  private let writingPage: OpaquePointer
  private let touching: OpaquePointer
  private let confirming: OpaquePointer
  private let begin: OpaquePointer
  private let commit: OpaquePointer
  private var revision: Int64

  /// Opens a file that a storage has made.
  init(path: String) throws {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
    let result = sqlite3_open_v2(path, &handle, flags, nil)
    guard result == SQLITE_OK, let handle else { throw CheckFailure(description: "no \(path)") }
    self.handle = handle
    for pragma in [
      "journal_mode = WAL", "synchronous = NORMAL", "mmap_size = 0", "secure_delete = 0",
      "cell_size_check = 1", "foreign_keys = 1",
    ] {
      try Self.check(sqlite3_exec(handle, "PRAGMA \(pragma)", nil, nil, nil), handle)
    }
    self.reading = try Self.prepare(Self.readingSQL, handle)
    self.writing = try Self.prepare(Self.writingSQL, handle)
    self.writingPage = try Self.prepare(Self.writingPageSQL, handle)
    self.touching = try Self.prepare(Self.touchingSQL, handle)
    self.confirming = try Self.prepare(Self.confirmingSQL, handle)
    self.begin = try Self.prepare("BEGIN IMMEDIATE", handle)
    self.commit = try Self.prepare("COMMIT", handle)
    let newest = try Self.prepare("SELECT max(revision) FROM entries WHERE partition = 1", handle)
    sqlite3_step(newest)
    self.revision = sqlite3_column_int64(newest, 0)
    sqlite3_finalize(newest)
  }

  deinit {
    for statement in [
      self.reading, self.writing, self.writingPage, self.touching, self.confirming, self.begin,
      self.commit,
    ] {
      sqlite3_finalize(statement)
    }
    sqlite3_close(self.handle)
  }

  private static func prepare(_ sql: String, _ handle: OpaquePointer) throws -> OpaquePointer {
    var statement: OpaquePointer?
    try self.check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil), handle)
    guard let statement else { throw CheckFailure(description: "no statement: \(sql)") }
    return statement
  }

  private static func check(_ result: Int32, _ handle: OpaquePointer) throws {
    if [SQLITE_OK, SQLITE_ROW, SQLITE_DONE].contains(result) { return }
    throw CheckFailure(description: "SQLite: \(String(cString: sqlite3_errmsg(handle)))")
  }
}

// MARK: - Reading

extension BareDatabase {
  private static let readingSQL = """
    SELECT id, revision, identity, byte_count, checksum, kind, coder, value_version,
      value_updated_at, value_update_count, error_updated_at, error_update_count, is_invalidated,
      is_pinned, expires_at, error_type, error_text, next_page_id, previous_page_id, value
    FROM entries WHERE partition = 1 AND identity = ?
    """

  /// The hashes of the notes' identities, by number.
  func hashes() throws -> [Int: [UInt8]] {
    let sql = "SELECT identity, hash FROM entries WHERE kind = 'query'"
    let statement = try Self.prepare(sql, self.handle)
    defer { sqlite3_finalize(statement) }
    var hashes = [Int: [UInt8]]()
    while sqlite3_step(statement) == SQLITE_ROW {
      let identity = String(cString: sqlite3_column_text(statement, 0))
      let number = identity.split(separator: ",").last.flatMap { Int($0.dropLast()) }
      guard let number, let hash = sqlite3_column_blob(statement, 1) else { continue }
      hashes[number] = [UInt8](UnsafeRawBufferPointer(start: hash, count: 16))
    }
    return hashes
  }

  /// The value of an entry, in a transaction of its own unless there is one.
  func value(at identity: String) throws -> Data {
    let statement = self.reading
    defer { sqlite3_reset(statement) }
    csqlite_bind_text(statement, 1, identity, UInt64(identity.utf8.count))
    guard sqlite3_step(statement) == SQLITE_ROW, let bytes = sqlite3_column_blob(statement, 19)
    else { throw CheckFailure(description: "an entry is missing") }
    return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, 19)))
  }
}

// MARK: - Under a path

extension BareDatabase {
  /// The values of the identities in a range.
  func values(from lower: String, to upper: String) throws -> [Data] {
    let statement = try Self.prepare(
      "SELECT value FROM entries WHERE partition = 1 AND identity >= ? AND identity < ?",
      self.handle)
    defer { sqlite3_finalize(statement) }
    csqlite_bind_text(statement, 1, lower, UInt64(lower.utf8.count))
    csqlite_bind_text(statement, 2, upper, UInt64(upper.utf8.count))
    var values = [Data]()
    while sqlite3_step(statement) == SQLITE_ROW {
      guard let bytes = sqlite3_column_blob(statement, 0) else { continue }
      values.append(Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, 0))))
    }
    return values
  }

  /// Invalidates the identities in a range, in a transaction of its own.
  ///
  /// - Returns: How many there were.
  func invalidate(from lower: String, to upper: String) throws -> Int {
    let statement = try Self.prepare(
      """
      UPDATE entries SET is_invalidated = 1, revision = revision + \(self.revision)
      WHERE partition = 1 AND identity >= ? AND identity < ?
      """, self.handle)
    defer { sqlite3_finalize(statement) }
    csqlite_bind_text(statement, 1, lower, UInt64(lower.utf8.count))
    csqlite_bind_text(statement, 2, upper, UInt64(upper.utf8.count))
    try self.transaction { try self.run(statement) }
    self.revision *= 2
    return Int(sqlite3_changes(self.handle))
  }
}

// MARK: - Writing

extension BareDatabase {
  private static let writingSQL = """
    INSERT INTO entries (partition, hash, revision, kind, coder, value_version, value_updated_at,
      value_update_count, last_use, byte_count, checksum, identity, value)
    VALUES (1, ?, ?, 'query', 'json', 1, ?, 2, ?, ?, ?, ?, ?)
    ON CONFLICT (partition, identity) DO UPDATE SET revision = excluded.revision,
      value_updated_at = excluded.value_updated_at,
      value_update_count = excluded.value_update_count, byte_count = excluded.byte_count,
      checksum = excluded.checksum, value = excluded.value
    """

  private static let writingPageSQL = """
    INSERT INTO pages (entry, position, updated_at, checksum, page_id, value)
    VALUES (?, ?, ?, ?, ?, ?)
    """

  /// Does something in one transaction.
  func transaction<R>(_ body: () throws -> R) throws -> R {
    try self.run(self.begin)
    let result = try body()
    try self.run(self.commit)
    return result
  }

  /// Writes an entry, new or not.
  func write(_ entry: BareEntry) throws {
    let statement = self.writing
    let identityCount = UInt64(entry.identity.utf8.count)
    self.revision += 1
    Self.bind(entry.hash, 1, statement)
    sqlite3_bind_int64(statement, 2, self.revision)
    sqlite3_bind_int64(statement, 3, 1_800_000_000_000_000 + self.revision)
    sqlite3_bind_int64(statement, 4, self.revision)
    sqlite3_bind_int64(statement, 5, Int64(entry.value.count) + Int64(identityCount))
    Self.bind(entry.hash, 6, statement)
    csqlite_bind_text(statement, 7, entry.identity, identityCount)
    Self.bind(entry.value, 8, statement)
    try self.run(statement)
  }

  /// The number of the entry that was written last, if it was new.
  var lastInsertedID: Int64 { sqlite3_last_insert_rowid(self.handle) }

  private static let touchingSQL = "UPDATE entries SET revision = ? WHERE id = ?"

  /// Gives an entry the next revision, as where a page was added.
  func touch(_ entry: Int64) throws {
    self.revision += 1
    sqlite3_bind_int64(self.touching, 1, self.revision)
    sqlite3_bind_int64(self.touching, 2, entry)
    try self.run(self.touching)
  }

  private static let confirmingSQL = """
    UPDATE entries SET revision = ?, value_updated_at = ?, value_update_count = value_update_count + 1
    WHERE partition = 1 AND identity = ?
    """

  /// Gives a value another date, and its entry the next revision.
  func confirm(_ identity: String) throws {
    let statement = self.confirming
    self.revision += 1
    sqlite3_bind_int64(statement, 1, self.revision)
    sqlite3_bind_int64(statement, 2, 1_800_000_000_000_000 + self.revision)
    csqlite_bind_text(statement, 3, identity, UInt64(identity.utf8.count))
    try self.run(statement)
  }

  /// Writes pages of the new entry that was written last.
  func write(pages: [BareEntry]) throws { try self.write(pages: pages, of: self.lastInsertedID) }

  /// Writes pages of an entry.
  func write(pages: [BareEntry], of entry: Int64, from first: Int = 0) throws {
    for (index, page) in zip(first..., pages) {
      let statement = self.writingPage
      sqlite3_bind_int64(statement, 1, entry)
      sqlite3_bind_int64(statement, 2, Int64(index) << 32)
      sqlite3_bind_int64(statement, 3, 1_800_000_000_000_000)
      Self.bind(page.hash, 4, statement)
      Self.bind(Array(page.identity.utf8), 5, statement)
      Self.bind(page.value, 6, statement)
      try self.run(statement)
    }
  }

  private static func bind(
    _ bytes: some ContiguousBytes, _ index: Int32, _ statement: OpaquePointer
  ) {
    bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      _ = csqlite_bind_bytes(statement, index, start, UInt64(bytes.count))
    }
  }

  /// The bytes that were appended to the WAL since the file was opened.
  func bytesWritten() throws -> Int {
    var (pages, highest) = (Int32(0), Int32(0))
    let option = SQLITE_DBSTATUS_CACHE_WRITE
    try Self.check(sqlite3_db_status(self.handle, option, &pages, &highest, 0), self.handle)
    return Int(pages) * (4096 + 24)
  }

  private func run(_ statement: OpaquePointer) throws {
    let result = sqlite3_step(statement)
    sqlite3_reset(statement)
    try Self.check(result, self.handle)
  }
}
