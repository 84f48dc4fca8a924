import Foundation

/// Entries and pages as the leanest C program would keep them: what is asked for by key, with its date, and
/// nothing else.
// @unchecked: the rounds of a row run one after another.
final class LeanDatabase: PlainDatabase, @unchecked Sendable {
  let connection: BareConnection
  private let reading: BareStatement
  private let readingRange: BareStatement
  private let writing: BareStatement
  private let writingPage: BareStatement
  private let confirming: BareStatement
  private let invalidating: BareStatement
  // None that a row has: SQLite does not write a row that is assigned what it has.
  private var date = Int64(Date.now.timeIntervalSince1970 * 1_000_000)

  // A page's row has the number of its list and its place in one, so that a second tree is spared.
  private static let schema = """
    CREATE TABLE IF NOT EXISTS entries (
      key TEXT NOT NULL UNIQUE, updated_at INTEGER NOT NULL, value BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS pages (place INTEGER PRIMARY KEY, value BLOB NOT NULL)
    """

  /// Opens a file, and makes it if there is none.
  init(path: String) throws {
    self.connection = try BareConnection(path: path, .normal)
    try self.connection.execute(Self.schema)
    self.reading = try self.connection.prepare("SELECT value FROM entries WHERE key = ?")
    self.readingRange = try self.connection.prepare(
      "SELECT value FROM entries WHERE key >= ? AND key < ?")
    self.writing = try self.connection.prepare(
      """
      INSERT INTO entries (key, updated_at, value) VALUES (?, ?, ?) ON CONFLICT (key)
      DO UPDATE SET updated_at = excluded.updated_at, value = excluded.value
      """)
    self.writingPage = try self.connection.prepare(
      "INSERT INTO pages (place, value) VALUES (?, ?)")
    self.confirming = try self.connection.prepare(
      "UPDATE entries SET updated_at = ? WHERE key = ?")
    // What was never updated is stale.
    self.invalidating = try self.connection.prepare(
      "UPDATE entries SET updated_at = 0 WHERE key >= ? AND key < ?")
  }

  /// Copies the entries of a storage's file into a new one.
  static func copy(of file: String, to path: String) throws {
    let database = try LeanDatabase(path: path)
    try database.connection.execute("ATTACH '\(file)' AS storage")
    try database.connection.execute(
      """
      INSERT INTO main.entries (key, updated_at, value)
      SELECT identity, value_updated_at, value FROM storage.entries ORDER BY id
      """)
    try database.connection.execute("DETACH storage")
    try database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  func value(at identity: String) throws -> Data {
    try self.reading.value(at: identity, column: 0)
  }

  func values(from lower: String, to upper: String) throws -> [Data] {
    try self.readingRange.values(from: lower, to: upper)
  }

  func write(_ entry: BareEntry) throws {
    self.date += 1
    self.writing.bind(entry.identity, at: 1)
    self.writing.bind(self.date, at: 2)
    self.writing.bind(entry.value, at: 3)
    try self.writing.run()
  }

  func confirm(_ identity: String) throws {
    self.date += 1
    self.confirming.bind(self.date, at: 1)
    self.confirming.bind(identity, at: 2)
    try self.confirming.run()
  }

  func invalidate(from lower: String, to upper: String) throws -> Int {
    self.invalidating.bind(lower, at: 1)
    self.invalidating.bind(upper, at: 2)
    try self.transaction { try self.invalidating.run() }
    return self.connection.changes
  }

  func write(pages: some Sequence<BareEntry>, of entry: Int64, from first: Int) throws {
    for (index, page) in zip(first..., pages) {
      self.writingPage.bind(entry << 32 | Int64(index), at: 1)
      self.writingPage.bind(page.value, at: 2)
      try self.writingPage.run()
    }
  }

  /// A page has its own date: nothing is to be changed in its entry.
  func touch(_ entry: Int64) throws {}
}
