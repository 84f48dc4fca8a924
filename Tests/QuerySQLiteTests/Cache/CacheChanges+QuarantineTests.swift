import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct CacheChangesQuarantineTests {
  private let cache: CacheScratch
  private let now = Date(timeIntervalSince1970: 1_700_000_000)

  init() throws { self.cache = try CacheScratch() }

  private func quarantine(
    _ number: Int,
    _ miss: StorageMiss,
    revision: Int64? = nil
  ) throws -> Bool {
    let row = try #require(
      try EntryRow.whole(
        XXH128(hashing: QueryIdentity.sample(number).text), on: self.cache.connection))
    return try self.cache.change {
      try $0.quarantine(
        .sample(number), revision: revision ?? row.revision, miss, now: self.now)
    }
  }

  private func quarantined(_ columns: String) throws -> [String] {
    try self.cache.connection.rowsOfText("SELECT \(columns) FROM quarantine ORDER BY id")
  }

  @Test(
    arguments: [
      (.olderVersion(3), "version 3"), (.otherCoder("x"), "coder x"),
      (.undecodable("why"), "undecodable why"), (.wrongChecksum, "checksum NULL"),
    ] as [(StorageMiss, String)])
  func anEntryIsMovedWithItsReason(_ miss: StorageMiss, _ reason: String) throws {
    try self.cache.write(.sample(1), .sample(1))
    #expect(try self.quarantine(1, miss))
    #expect(try self.quarantined("reason, message") == [reason])
    #expect(try self.cache.tables.read(.sample(1)) == .absent)
    #expect(try self.cache.storedTotals() == "0 0")
    #expect(try self.cache.tables.readPartition().revision == 2)
  }

  @Test func pagesGoWithTheirEntry() throws {
    try self.cache.write(.pages([.sample(1), .sample(2)]), .sample(1))
    #expect(try self.quarantine(1, .wrongChecksum))
    #expect(
      try self.quarantined("position, byte_count") == ["NULL 0", "0 1025", "4294967296 1025"])
    #expect(try self.cache.connection.pragma("SELECT count(*) FROM pages") == "0")
    #expect(try self.cache.storedTotals() == "0 0")
  }

  @Test(arguments: [.absent, .expired, .newerVersion(2), .collision] as [StorageMiss])
  func whatSomebodyCanReadStays(_ miss: StorageMiss) throws {
    try self.cache.write(.sample(1), .sample(1))
    #expect(!(try self.quarantine(1, miss)))
    #expect(try self.cache.entry(.sample(1)) != nil)
  }

  @Test func whatWasWrittenAgainStays() throws {
    try self.cache.write(.sample(1), .sample(1))
    try self.cache.write(.sample(2), .sample(1))
    #expect(!(try self.quarantine(1, .wrongChecksum, revision: 1)))
    #expect(try self.cache.entry(.sample(1)) == .sample(2))
  }

  @Test func theQuarantineHasItsLimits() throws {
    for number in 0..<103 {
      try self.cache.write(.sample(number), .sample(number))
      #expect(try self.quarantine(number, .wrongChecksum))
    }
    #expect(try self.quarantined("identity").count == QuarantineRow.maximumRows)
    for number in 0..<3 {
      try self.cache.write(.sample(number, count: 6 << 20), .sample(number))
      #expect(try self.quarantine(number, .wrongChecksum))
    }
    // A large value stands apart from its entry.
    #expect(try self.quarantined("byte_count") == ["0", "6291456", "0", "6291456"])
    try self.cache.connection.write {
      try self.cache.connection.execute(
        "UPDATE quarantine SET quarantined_at = ?",
        self.now.microsecondsSince1970 - QuarantineRow.maximumAge - 1)
    }
    try self.cache.write(.sample(5), .sample(5))
    #expect(try self.quarantine(5, .wrongChecksum))
    #expect(try self.quarantined("identity") == [QueryIdentity.sample(5).text])
  }
}
