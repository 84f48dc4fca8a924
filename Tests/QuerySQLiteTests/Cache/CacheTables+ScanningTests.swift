import Foundation
import Query
import Testing

@testable import QuerySQLite

@Suite struct CacheTablesScanningTests {
  private let cache: CacheScratch

  init() throws { self.cache = try CacheScratch() }

  private func scan(
    _ path: QueryPath,
    limit: Int = .max
  ) throws -> (found: [QueryIdentity: StoredEntry], isAll: Bool) {
    var found = [QueryIdentity: StoredEntry]()
    let isAll = try self.cache.tables.scan(try IdentityPrefix(path: path), upToBytes: limit) {
      identity, entry in
      found[identity] = entry
    }
    return (found, isAll)
  }

  @Test func matchingEntriesAreReadWithTheirPages() throws {
    let infinite = StoredEntry.pages([.sample(1), .sample(2)])
    try self.cache.write(infinite, try QueryIdentity(path: ["a"]))
    try self.cache.write(.sample(1), try QueryIdentity(path: ["a", 1]))
    try self.cache.write(.sample(2), try QueryIdentity(path: ["ab"]))
    let other = try CacheTables(partitionNamed: "b", on: self.cache.connection)
    try self.cache.connection.write {
      var changes = try other.begin()
      _ = try changes.write(.sample(3), identity: try QueryIdentity(path: ["a", 3]))
      _ = try changes.finish()
    }
    let (found, isAll) = try self.scan(["a"])
    #expect(
      found == [
        try QueryIdentity(path: ["a"]): infinite.revised(1),
        try QueryIdentity(path: ["a", 1]): .sample(1).revised(2),
      ])
    #expect(isAll)
    #expect(try self.scan([]).found.count == 3)
  }

  @Test func aScanEndsAtItsLimit() throws {
    for number in 0..<10 { try self.cache.write(.sample(number), .sample(number)) }
    let (found, isAll) = try self.scan([], limit: 3 * (1_024 + 12))
    #expect(found.count == 3)
    #expect(!isAll)
    #expect(try self.scan([], limit: 10 * (1_024 + 12)).isAll)
  }

  @Test func aLongScanReadsAllInSeveralTransactions() throws {
    try self.cache.change { changes in
      for number in 0..<10_000 {
        _ = try changes.write(.sample(number, count: 8), identity: .sample(number))
      }
    }
    try self.cache.change { changes in
      for number in 10_000..<10_005 {
        _ = try changes.write(.sample(number, count: 4 << 20), identity: .sample(number))
      }
    }
    let (found, isAll) = try self.scan(["sample"])
    #expect(isAll)
    #expect(Set(found.keys) == Set((0..<10_005).map { .sample($0) }))
  }

  @Test func whatIsDamagedIsPassedOver() throws {
    for number in 0..<3 { try self.cache.write(.sample(number), .sample(number)) }
    try self.cache.connection.write {
      try self.cache.connection.execute("UPDATE entries SET value = x'00' WHERE id = 2")
    }
    #expect(try self.scan([]).found.count == 2)
  }
}
