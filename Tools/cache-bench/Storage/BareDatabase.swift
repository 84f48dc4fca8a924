import Foundation
import Query

/// The database of a corpus as a C program would use it: prepared statements on the same tables,
/// with the pragmas that the storage has.
// @unchecked: the rounds of a row run one after another.
final class BareDatabase: PlainDatabase, @unchecked Sendable {
  let connection: BareConnection
  private let reading: BareStatement
  private let readingRange: BareStatement
  private let writing: BareStatement
  private let writingPage: BareStatement
  private let touching: BareStatement
  private let confirming: BareStatement
  private let invalidating: BareStatement
  private var revision: Int64

  /// Opens a file that a storage has made.
  init(path: String) throws {
    self.connection = try BareConnection(
      path: path, .normal,
      pragmas: ["mmap_size = 0", "secure_delete = 0", "cell_size_check = 1", "foreign_keys = 1"])
    self.reading = try self.connection.prepare(Self.readingSQL)
    self.readingRange = try self.connection.prepare(
      "SELECT value FROM entries WHERE partition = 1 AND identity >= ? AND identity < ?")
    self.writing = try self.connection.prepare(Self.writingSQL)
    self.writingPage = try self.connection.prepare(Self.writingPageSQL)
    self.touching = try self.connection.prepare("UPDATE entries SET revision = ? WHERE id = ?")
    self.confirming = try self.connection.prepare(Self.confirmingSQL)
    self.invalidating = try self.connection.prepare(Self.invalidatingSQL)
    let newest = try self.connection.prepare(
      "SELECT max(revision) FROM entries WHERE partition = 1")
    self.revision = try newest.step() ? newest.integer(0) : 0
    newest.reset()
  }
}

// MARK: - Reading

extension BareDatabase {
  private static let readingSQL = """
    SELECT id, revision, identity, byte_count, checksum, kind, coder, value_version,
      value_updated_at, value_update_count, error_updated_at, error_update_count, invalidated_at,
      is_pinned, expires_at, error_type, error_text, next_page_id, previous_page_id, value
    FROM entries WHERE partition = 1 AND identity = ?
    """

  /// The hashes of the notes' identities, by number.
  func hashes() throws -> [Int: [UInt8]] {
    let statement = try self.connection.prepare(
      "SELECT identity, hash FROM entries WHERE kind = 'query'")
    defer { statement.reset() }
    var hashes = [Int: [UInt8]]()
    while try statement.step() {
      let number = statement.text(0).split(separator: ",").last.flatMap { Int($0.dropLast()) }
      guard let number, let hash = statement.bytes(1) else { continue }
      hashes[number] = [UInt8](hash)
    }
    return hashes
  }

  func value(at identity: String) throws -> Data {
    try self.reading.value(at: identity, column: 19)
  }

  func values(from lower: String, to upper: String) throws -> [Data] {
    try self.readingRange.values(from: lower, to: upper)
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

  private static let confirmingSQL = """
    UPDATE entries SET revision = ?, value_updated_at = ?, value_update_count = value_update_count + 1
    WHERE partition = 1 AND identity = ?
    """

  private static let invalidatingSQL = """
    UPDATE entries SET invalidated_at = 1, revision = revision + ?
    WHERE partition = 1 AND identity >= ? AND identity < ?
    """

  func write(_ entry: BareEntry) throws {
    let statement = self.writing
    self.revision += 1
    statement.bind(entry.hash, at: 1)
    statement.bind(self.revision, at: 2)
    statement.bind(1_800_000_000_000_000 + self.revision, at: 3)
    statement.bind(self.revision, at: 4)
    statement.bind(Int64(entry.value.count + entry.identity.utf8.count), at: 5)
    statement.bind(entry.hash, at: 6)
    statement.bind(entry.identity, at: 7)
    statement.bind(entry.value, at: 8)
    try statement.run()
  }

  func invalidate(from lower: String, to upper: String) throws -> Int {
    self.invalidating.bind(self.revision, at: 1)
    self.invalidating.bind(lower, at: 2)
    self.invalidating.bind(upper, at: 3)
    try self.transaction { try self.invalidating.run() }
    self.revision *= 2
    return self.connection.changes
  }

  /// Gives an entry the next revision.
  func touch(_ entry: Int64) throws {
    self.revision += 1
    self.touching.bind(self.revision, at: 1)
    self.touching.bind(entry, at: 2)
    try self.touching.run()
  }

  func confirm(_ identity: String) throws {
    self.revision += 1
    self.confirming.bind(self.revision, at: 1)
    self.confirming.bind(1_800_000_000_000_000 + self.revision, at: 2)
    self.confirming.bind(identity, at: 3)
    try self.confirming.run()
  }

  func write(pages: some Sequence<BareEntry>, of entry: Int64, from first: Int) throws {
    for (index, page) in zip(first..., pages) {
      let statement = self.writingPage
      statement.bind(entry, at: 1)
      statement.bind(Int64(index) << 32, at: 2)
      statement.bind(1_800_000_000_000_000, at: 3)
      statement.bind(page.hash, at: 4)
      statement.bind(Array(page.identity.utf8), at: 5)
      statement.bind(page.value, at: 6)
      try statement.run()
    }
  }
}
