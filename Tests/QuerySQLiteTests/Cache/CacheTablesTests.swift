import Foundation
import Query
import Testing

@testable import QuerySQLite

@Suite struct CacheTablesTests {
  private let cache: CacheScratch

  init() throws { self.cache = try CacheScratch() }

  @Test func aPartitionIsMadeOnceAndSharesNothing() throws {
    try self.cache.write(.sample(1), .sample(1))
    let other = try CacheTables(partitionNamed: "b", on: self.cache.connection)
    let again = try CacheTables(partitionNamed: "b", on: self.cache.connection)
    #expect(other.partition == again.partition)
    #expect(other.partition != self.cache.tables.partition)
    #expect(try other.read(.sample(1)) == .absent)
    #expect(try other.readPartition().revision == 0)
    #expect(try other.changes(after: 0).isEmpty)
  }

  @Test func aMissingPartitionIsAnError() throws {
    let tables = CacheTables(partition: 99, on: self.cache.connection)
    #expect(storageError { _ = try tables.readPartition() }?.code == .corrupt)
  }

  @Test func changesAreThoseWrittenAfterARevisionInTheirOrder() throws {
    for number in 1...3 { try self.cache.write(.sample(number), .sample(number)) }
    let seen = try self.cache.tables.readPartition().revision
    try self.cache.write(.sample(9), .sample(2))
    try self.cache.write(.sample(9), .sample(1))
    try self.cache.write(.sample(3), .sample(3))
    let changes = try self.cache.tables.changes(after: seen)
    #expect(changes.map(\.identity) == [.sample(2), .sample(1)])
    #expect(changes.map(\.revision) == [seen + 1, seen + 2])
  }

  @Test func aNumberIsNeverGivenTwice() throws {
    for number in 1...3 { try self.cache.write(.sample(number), .sample(number)) }
    let before = try self.cache.tables.readPartition().revision
    #expect(try self.cache.change { try $0.remove(.sample(3)) })
    #expect(try self.cache.tables.readPartition().revision == before + 1)
    #expect(
      try self.cache.write(.sample(3), .sample(3))
        == .inserted(revision: before + 2, bytes: 1_024 + 12))
  }

  @Test func freePagesAreGivenBackAsManyAsAreAskedFor() throws {
    for number in 0..<100 { try self.cache.write(.sample(number, count: 8_000), .sample(number)) }
    for number in 0..<100 { #expect(try self.cache.change { try $0.remove(.sample(number)) }) }
    func free() throws -> Int {
      try self.cache.connection.first("PRAGMA freelist_count") { Int(try $0.integer(at: 0)) } ?? 0
    }
    let before = try free()
    #expect(before > 100)
    let first = try self.cache.connection.write { try self.cache.tables.vacuum(.rows(10)) }
    #expect(first == (10, false))
    #expect(try free() == before - 10)
    let rest = try self.cache.connection.write { try self.cache.tables.vacuum(.rows(10_000)) }
    #expect(rest.isDone && rest.freed > 0 && rest.freed <= before - 10)
    #expect(try free() == 0)
    #expect(try self.cache.connection.pragma("PRAGMA integrity_check") == "ok")
  }
}
