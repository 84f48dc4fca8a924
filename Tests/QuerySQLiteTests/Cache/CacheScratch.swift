import Foundation
import Query
import StorageTestSupport
import TestSupport

@testable import QuerySQLite

/// A new `cache.sqlite` with one partition.
struct CacheScratch {
  let folder: TemporaryFolder
  let opener: DatabaseOpener
  let connection: SQLiteConnection
  let tables: CacheTables

  init(partition: String = "") throws {
    self.folder = try TemporaryFolder()
    self.opener = DatabaseOpener(.cache, in: self.folder)
    self.connection = try self.opener.openWriter()
    self.tables = try CacheTables(partitionNamed: partition, on: self.connection)
  }

  /// Changes the tables in a transaction.
  @discardableResult
  func change<R>(_ body: (inout CacheChanges) throws -> R) throws -> R {
    try self.connection.write {
      var changes = try self.tables.begin()
      let result = try body(&changes)
      _ = try changes.finish()
      return result
    }
  }

  /// Writes an entry in a transaction of its own.
  @discardableResult
  func write(_ entry: StoredEntry, _ identity: QueryIdentity) throws -> CacheWriteOutcome {
    try self.change { try $0.write(entry, identity: identity) }
  }

  /// How many frames a closure's commits write.
  func frames(_ body: () throws -> Void) throws -> Int {
    let before = try self.connection.writtenPages
    try body()
    return try self.connection.writtenPages - before
  }

  /// The entry that is read, without its revision.
  func entry(_ identity: QueryIdentity) throws -> StoredEntry? {
    guard case .entry(var entry) = try self.tables.read(identity) else { return nil }
    entry.revision = 0
    return entry
  }

  /// The texts of the identities that are stored, in the order of their rows.
  func identities() throws -> [String] {
    try self.connection.rowsOfText("SELECT identity FROM entries ORDER BY id")
  }

  /// Entries and bytes as SQL counts them.
  func countedTotals() throws -> String? {
    try self.connection.rowsOfText(
      """
      SELECT count(*), coalesce(sum(octets), 0) FROM (
        SELECT length(CAST(identity AS BLOB)) + coalesce(length(CAST(error_type AS BLOB)), 0)
          + coalesce(length(CAST(error_text AS BLOB)), 0) + coalesce(length(value), 0)
          + coalesce(length(metadata), 0) + coalesce(length(next_page_id), 0) + coalesce(length(previous_page_id), 0)
          + (SELECT coalesce(sum(length(page_id) + length(value) + coalesce(length(metadata), 0)), 0) FROM pages
             WHERE entry = entries.id) AS octets
        FROM entries WHERE partition = \(self.tables.partition))
      """
    ).first
  }

  /// Entries and bytes as the row of the partition shows them.
  func storedTotals() throws -> String? {
    let row = try self.tables.readPartition()
    return "\(row.entryCount) \(row.byteCount)"
  }
}

extension QueryIdentity {
  /// `["sample",number]`.
  static func sample(_ number: Int) -> QueryIdentity {
    QueryIdentity(canonicalText: "[\"sample\",\(number)]")
  }
}

extension StoredEntry {
  /// The same entry, as the writing of this number.
  func revised(_ revision: Int64) -> StoredEntry {
    var entry = self
    entry.revision = revision
    return entry
  }

  /// An entry with a value of bytes that are all the same.
  static func sample(_ byte: Int, count: Int = 1_024) -> StoredEntry {
    StoredEntry(
      kind: "query", coder: "json", version: 1,
      content: .value(Data(repeating: UInt8(truncatingIfNeeded: byte), count: count)),
      history: UpdateHistory(
        valueUpdateCount: 1, valueLastUpdatedAt: Date(timeIntervalSince1970: 1_700_000_000)))
  }

  /// An entry with pages.
  static func pages(_ pages: [Page], next: Data? = nil, previous: Data? = nil) -> StoredEntry {
    var entry = Self.sample(0)
    entry.kind = "infinite"
    entry.content = .pages(pages, next: next, previous: previous)
    return entry
  }
}

extension StoredEntry.Page {
  /// A page whose id is a number, with a value of bytes that are all the same.
  static func sample(_ number: Int, _ byte: Int = 0, count: Int = 1_024) -> Self {
    Self(
      id: Data("\(number)".utf8),
      value: Data(repeating: UInt8(truncatingIfNeeded: byte), count: count))
  }
}

extension CacheChanges {
  /// Writes an entry that was not prepared before the transaction.
  @discardableResult
  mutating func write(_ entry: StoredEntry, identity: QueryIdentity) throws -> CacheWriteOutcome {
    try self.write(PreparedEntry(entry, identity: identity))
  }
  /// Removes an entry of whatever version.
  ///
  /// - Returns: Whether it existed.
  mutating func remove(_ identity: QueryIdentity) throws -> Bool {
    try self.remove(identity, upToVersion: .max) == .removed
  }
}
