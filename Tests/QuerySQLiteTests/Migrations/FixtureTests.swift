import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Databases of every released level, with rows in them, open and keep their rows.
@Suite struct FixtureTests {
  private let folder: TemporaryFolder
  private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Fixtures")

  init() throws { self.folder = try TemporaryFolder() }

  private func open(_ kind: DatabaseKind, level: Int) throws -> SQLiteConnection {
    let opener = DatabaseOpener(kind, in: self.folder)
    let fixture = Self.fixtures.appending(path: "\(kind)-level-\(level).sqlite")
    try FileManager.default.copyItem(atPath: fixture.path, toPath: opener.path)
    return try opener.openWriter()
  }

  @Test(arguments: 1...1)
  func theCacheOfALevelOpensWithItsRows(_ level: Int) throws {
    let connection = try self.open(.cache, level: level)
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
    #expect(
      try connection.pragma("PRAGMA user_version") == "\(DatabaseKind.cache.migrations.count)")
    let partition = try PartitionRow.named("a\0b", on: connection)
    #expect(partition?.entryCount == 2)
    let sample = EntryRow.sample(1)
    var entry = try #require(try EntryRow.whole(sample.hash, on: connection))
    entry.id = 0
    #expect(entry == sample)
    let pages = try PageRow.whole(of: 2, on: connection)
    #expect(pages.map(\.pageID) == [Data("0".utf8), Data("1".utf8)])
    #expect(pages.map(\.checksum) == pages.map { XXH128(pageID: $0.pageID, value: $0.value) })
    let tables = CacheTables(partition: 1, on: connection)
    let identity = QueryIdentity(canonicalText: EntryRow.sample(2).identity)
    guard case .entry(let infinite) = try tables.read(identity) else {
      Issue.record("the entry with pages is not read")
      return
    }
    #expect(infinite.history.error?.text == "offline")
  }

  @Test(arguments: 1...1)
  func theOutboxOfALevelOpensWithItsRows(_ level: Int) throws {
    let connection = try self.open(.mutations, level: level)
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
    #expect(try connection.pragma("PRAGMA foreign_key_check") == nil)
    #expect(
      try connection.pragma("PRAGMA user_version") == "\(DatabaseKind.mutations.migrations.count)")
    #expect(
      try connection.pragma(
        "SELECT group_concat(number || state) FROM (SELECT * FROM outbox ORDER BY number)")
        == "1pending,3leased,4dead")
    #expect(try connection.pragma("SELECT last_number FROM partitions") == "4")
  }
}
