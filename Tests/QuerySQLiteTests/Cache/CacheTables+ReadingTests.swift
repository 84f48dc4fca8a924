import Foundation
import Query
import Testing

@testable import QuerySQLite

@Suite struct CacheTablesReadingTests {
  private let cache: CacheScratch

  init() throws { self.cache = try CacheScratch() }

  private static let full = StoredEntry(
    kind: "query", coder: "propertyList", version: 3, content: .value(Data([0, 1, 2])),
    history: UpdateHistory(
      valueUpdateCount: 4, valueLastUpdatedAt: Date(timeIntervalSinceReferenceDate: 1.5),
      error: RestoredError(typeName: "T", text: ""), errorUpdateCount: 5,
      errorLastUpdatedAt: Date(timeIntervalSinceReferenceDate: -1.5), isInvalidated: true),
    isPinned: true, expiresAt: Date(timeIntervalSinceReferenceDate: 9))

  @Test(arguments: [
    StoredEntry.Content.none, .value(Data()), .value(Data(repeating: 7, count: 100_000)),
    .pages([], next: nil, previous: nil), .pages([], next: Data(), previous: nil),
    .pages([.sample(1), .sample(2)], next: Data([1]), previous: Data([2])),
  ])
  func allThatIsWrittenIsRead(_ content: StoredEntry.Content) throws {
    var entry = Self.full
    entry.content = content
    try self.cache.write(entry, .sample(1))
    #expect(try self.cache.tables.read(.sample(1)) == .entry(entry.revised(1)))
    #expect(
      try self.cache.connection.read { try self.cache.tables.read(.sample(1)) }
        == .entry(entry.revised(1)))
  }

  @Test func nothingIsAbsent() throws {
    #expect(try self.cache.tables.read(.sample(1)) == .absent)
  }

  @Test(arguments: [#"["sample",2]"#, "", #"["sample",1]x"#])
  func anotherTextWithTheHashIsNotFound(_ text: String) throws {
    try self.cache.write(.sample(1), .sample(1))
    try self.cache.connection.write {
      try self.cache.connection.execute("UPDATE entries SET identity = ?", text)
    }
    #expect(try self.cache.tables.read(.sample(1)) == .absent)
  }

  /// A damaged index may lead to it.
  @Test func theRowOfAnotherIdentityIsNeverTakenForItsOwn() throws {
    try self.cache.write(.sample(1), .sample(1))
    try self.cache.connection.write {
      try self.cache.connection.execute("UPDATE entries SET hash = zeroblob(16)")
    }
    #expect(try self.cache.tables.read(.sample(1)) == .wrongChecksum(revision: 1))
    #expect(throws: StorageError.self) { try self.cache.write(.sample(2), .sample(1)) }
    #expect(throws: StorageError.self) { try self.cache.change { try $0.remove(.sample(1)) } }
    let prefix = try IdentityPrefix(path: ["sample"])
    let isAll = try self.cache.tables.scan(prefix, upToBytes: .max) { identity, _ in
      Issue.record("\(identity) is read")
    }
    #expect(isAll)
  }

  @Test(
    arguments: [
      "UPDATE entries SET value = x'00'", "UPDATE entries SET checksum = NULL",
      "UPDATE entries SET value = NULL",
    ] as [SQL])
  func aDamagedValueHasAWrongChecksum(_ damage: SQL) throws {
    try self.cache.write(.sample(1), .sample(1))
    try self.cache.connection.write { try self.cache.connection.execute(damage) }
    #expect(try self.cache.tables.read(.sample(1)) == .wrongChecksum(revision: 1))
  }

  @Test(
    arguments: [
      "UPDATE pages SET value = x'00' WHERE id = 2",
      "UPDATE pages SET page_id = x'00' WHERE id = 1",
      "DELETE FROM pages WHERE id = 3", "UPDATE pages SET position = -1 WHERE id = 3",
      "UPDATE entries SET next_page_id = x'00'", "UPDATE pages SET checksum = zeroblob(16)",
    ] as [SQL])
  func aDamagedOrMissingPageHasAWrongChecksum(_ damage: SQL) throws {
    try self.cache.write(.pages((1...3).map { .sample($0) }), .sample(1))
    try self.cache.connection.write { try self.cache.connection.execute(damage) }
    #expect(try self.cache.tables.read(.sample(1)) == .wrongChecksum(revision: 1))
  }

  @Test(
    arguments: [
      "UPDATE entries SET metadata = x'00'", "UPDATE entries SET metadata = NULL",
      "UPDATE entries SET value = NULL, checksum = NULL", "UPDATE entries SET value = x'00'",
      "UPDATE entries SET checksum = zeroblob(16)",
    ] as [SQL])
  func metadataIsNeverReadWithoutItsValue(_ damage: SQL) throws {
    var entry = StoredEntry.sample(1)
    entry.metadata = Data("validator".utf8)
    try self.cache.write(entry, .sample(1))
    #expect(try self.cache.entry(.sample(1)) == entry)
    #expect(try self.cache.countedTotals() == "1 \(self.cache.tables.readPartition().byteCount)")
    try self.cache.connection.write { try self.cache.connection.execute(damage) }
    #expect(try self.cache.tables.read(.sample(1)) == .wrongChecksum(revision: 1))
  }

  @Test(
    arguments: [
      "UPDATE pages SET metadata = x'00' WHERE id = 2",
      "UPDATE pages SET metadata = NULL WHERE id = 2",
      "UPDATE pages SET metadata = x'31' WHERE id = 3",
    ] as [SQL])
  func theMetadataOfAPageIsNeverReadWithAnother(_ damage: SQL) throws {
    var pages = (1...3).map { StoredEntry.Page.sample($0) }
    pages[1].metadata = Data("1".utf8)
    try self.cache.write(.pages(pages), .sample(1))
    #expect(try self.cache.entry(.sample(1)) == .pages(pages))
    try self.cache.connection.write { try self.cache.connection.execute(damage) }
    #expect(try self.cache.tables.read(.sample(1)) == .wrongChecksum(revision: 1))
  }

  @Test(arguments: [
    StoredEntry.sample(1, count: 2_000), .pages([.sample(10, count: 1_998)]),
  ])
  func anEntryAboveTheLimitIsLarge(_ entry: StoredEntry) throws {
    try self.cache.write(entry, .sample(1))
    #expect(try self.cache.tables.read(.sample(1), limit: 2_011) == .large(byteCount: 2_012))
    #expect(
      try self.cache.tables.read(.sample(1), limit: 2_012) == .entry(entry.revised(1)))
  }
}
