import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// The tools: what a person changes by hand is done as the library would, beside applications, and the
/// outbox is as it was.
@Suite struct StoreMaintenanceTests {
  private static func maintenance(_ scratch: StorageScratch) throws -> StoreMaintenance {
    try StoreMaintenance(directory: URL(filePath: scratch.path))
  }

  private static func isSound(_ scratch: StorageScratch) throws -> Bool {
    var findings = [InspectionFinding]()
    try StoreInspection(directory: URL(filePath: scratch.path)).check { findings.append($0) }
    #expect(findings == [])
    return findings.isEmpty
  }

  private static func set(_ count: Int, in storage: SQLiteQueryStorage) async throws {
    for number in 0..<count {
      storage.store("\(number)").currentValue = String(repeating: "x", count: 1_000)
    }
    try await storage.flush()
  }

  /// A command works in steps, and an application may erase the account between two of them, which
  /// gives it another number.
  @Test func anAccountThatIsErasedMeanwhileIsWrittenUnderItsNewNumber() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await Self.set(3, in: storage)
    try await storage.close()
    let maintenance = try Self.maintenance(scratch)
    try maintenance.withWriter(.cache) { connection in
      let found = try #require(try maintenance.accounts(in: "", on: connection).first)
      let other = try DatabaseOpener(kind: .cache, folder: scratch.path).openWriter()
      defer { try? other.close() }
      let tables = try CacheTables(partitionNamed: "", on: other)
      let new = try other.write { try tables.beginErasing() }
      try new.finishErasing()
      let number = try maintenance.write(account: found.name, on: connection) { $0.partition }
      #expect(number == new.partition && number != found.id)
    }
    #expect(try Self.isSound(scratch))
  }

  /// SQLite would cut it at the damaged frame, and the mutations behind that were lost.
  @Test func aDamagedLogOfAKilledProcessIsLeftToTheApplication() async throws {
    let killed = try OutboxScratch()
    for number in 0..<20 { try await killed.add("\(number)") }
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/mutations.sqlite"
    try FileManager.default.copyItem(atPath: killed.path, toPath: path)
    var log = try Data(contentsOf: URL(filePath: killed.path + "-wal"))
    log[32 + LogImage(Array(log), pageSize: 4_096).validCount / 2 * 4_120 + 400] ^= 4
    try log.write(to: URL(filePath: path + "-wal"))
    let maintenance = try StoreMaintenance(directory: URL(filePath: folder.path))
    let error = #expect(throws: InspectionError.self) {
      try maintenance.withWriter(.mutations) { _ in Issue.record("it was opened") }
    }
    #expect("\(try #require(error))".contains("start the application once"))
    #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == log)
    let scratch = try OutboxScratch(in: folder)
    #expect(try scratch.outbox.entries().map(\.id) == killed.outbox.entries().map(\.id))
    // From now on it is checked.
    try maintenance.withWriter(.mutations) { _ in }
    try await scratch.storage.close()
    try await killed.storage.close()
  }

  /// A backup of the file alone, beside the log that a killed process has left: SQLite would mix the two.
  @Test func aLogOfAnotherCacheIsLeftToTheApplication() async throws {
    let (one, other) = (try StorageScratch(), try StorageScratch())
    let killed = try one.storage()
    try await Self.set(30, in: killed)
    let log = try Data(contentsOf: URL(filePath: "\(one.path)/cache.sqlite-wal"))
    let storage = try other.storage()
    try await Self.set(3, in: storage)
    try await storage.close()
    let path = "\(other.path)/cache.sqlite"
    let file = try Data(contentsOf: URL(filePath: path))
    try log.write(to: URL(filePath: path + "-wal"))
    let error = #expect(throws: InspectionError.self) {
      try Self.maintenance(other).withWriter(.cache) { _ in Issue.record("it was opened") }
    }
    #expect("\(try #require(error))".contains("start the application once"))
    #expect(try Data(contentsOf: URL(filePath: path)) == file)
    #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == log)
    try await killed.close()
  }

  @Test func anEntryIsRemovedBesideAnApplication() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await Self.set(3, in: storage)
    let entry = try StoreInspection(directory: URL(filePath: scratch.path)).entry(
      named: "[\"texts\",\"1\"]")
    let removed = try Self.maintenance(scratch).remove(entry)
    #expect(removed.identity == "[\"texts\",\"1\"]")
    #expect(await storage.text("1") == nil)
    #expect(await storage.text("2") != nil)
    #expect(throws: InspectionError.notFound("entry [\"texts\",\"1\"]")) {
      try Self.maintenance(scratch).remove(entry)
    }
    #expect(try Self.isSound(scratch))
    try await storage.close()
  }

  /// What `check` calls an entry by leads to it, whichever hash that is.
  @Test func anEntryUnderAWrongHashIsShownAndRemoved() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "text", "b": "text"]) }
    let (a, b) = ("[\"texts\",\"a\"]", "[\"texts\",\"b\"]")
    let connection = try scratch.connection()
    // Under the hash of the other one, so that a hash leads to both.
    let hash = XXH128(hashing: b).description
    _ = try connection.rowsOfText(
      "UPDATE entries SET hash = x'\(hash)' WHERE identity = '\(a)'")
    _ = try connection.rowsOfText(
      "UPDATE entries SET hash = zeroblob(16), byte_count = \(Int64.min) WHERE identity = '\(b)'")
    try connection.close()
    // Another one each time: none has the file open while it is written.
    func store() throws -> StoreInspection {
      try StoreInspection(directory: URL(filePath: scratch.path))
    }
    var findings = [InspectionFinding]()
    try store().check { findings.append($0) }
    #expect(findings.map(\.kind) == [.wrongHash, .wrongHash, .wrongTotals])
    #expect(findings.compactMap(\.subject).contains("000000000000"))
    let value = try store().value(named: "000000000000")
    #expect(value.entry.identity == b && !value.isSound)
    let maintenance = try StoreMaintenance(directory: URL(filePath: scratch.path))
    let first = try store().entry(named: a)
    #expect(try maintenance.remove(first).identity == a)
    #expect(try store().entry(named: hash).identity == b)
    let second = try store().entry(named: "0000")
    #expect(try maintenance.remove(second).identity == b)
    #expect(throws: InspectionError.notFound("entry \(b)")) { try store().entry(named: b) }
  }

  @Test func evictionGoesDownToTheLimitsAndKeepsWhatIsPinned() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["pinned": "text"], PersistenceOptions(isPinned: true))
    try await Self.set(500, in: storage)
    try await storage.close()
    let maintenance = try Self.maintenance(scratch)
    let evicted = try maintenance.evict(toBytes: nil, entries: 100)
    #expect(evicted.entries == 401)
    let size = scratch.size(of: "cache.sqlite")
    #expect(size < 500_000)
    #expect(try maintenance.evict(toBytes: 50_000, entries: nil).entries > 40)
    #expect(try maintenance.evict(toBytes: 0, entries: nil).byteCount > 0)
    #expect(try scratch.rows("SELECT count(*) FROM entries") == ["1"])
    #expect(try Self.isSound(scratch))
  }

  @Test func oldEntriesAreEvicted() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await Self.set(300, in: $0) }
    let connection = try scratch.connection()
    _ = try connection.rowsOfText("UPDATE entries SET value_updated_at = 5 WHERE id <= 250")
    try connection.close()
    #expect(try Self.maintenance(scratch).evict(olderThan: 5).entries == 0)
    #expect(try Self.maintenance(scratch).evict(olderThan: 6).entries == 250)
    #expect(try Self.isSound(scratch))
  }

  @Test func freeRoomIsGivenBack() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await Self.set(500, in: $0) }
    let connection = try scratch.connection()
    _ = try connection.rowsOfText("DELETE FROM entries")
    _ = try connection.rowsOfText("UPDATE partitions SET entry_count = 0, byte_count = 0")
    try connection.close()
    let before = scratch.size(of: "cache.sqlite")
    #expect(try Self.maintenance(scratch).vacuum() > 100)
    #expect(scratch.size(of: "cache.sqlite") < before / 2)
    #expect(try Self.isSound(scratch))
  }

  @Test func theQuarantineIsListedShownAndDropped() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "text", "b": "text"]) }
    let connection = try scratch.connection()
    _ = try connection.rowsOfText("UPDATE entries SET value = x'00'")
    try connection.close()
    try await scratch.withStorage { storage in
      for name in ["a", "b"] { #expect(await storage.text(name) == nil) }
    }
    let store = try StoreInspection(directory: URL(filePath: scratch.path))
    let rows = try store.quarantine()
    #expect(rows.map(\.reason) == ["checksum", "checksum"])
    #expect(try store.quarantinedValue(rows[0].id).value == Data([0]))
    let maintenance = try Self.maintenance(scratch)
    #expect(try maintenance.dropQuarantine(rows[0].id) == 1)
    #expect(throws: InspectionError.notFound("row \(rows[0].id) in quarantine")) {
      try maintenance.dropQuarantine(rows[0].id)
    }
    #expect(try maintenance.dropQuarantine(nil) == 1)
    #expect(try store.quarantine() == [])
  }

  @Test func aLargeQuarantineIsDroppedInSteps() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "text"]) }
    let connection = try scratch.connection()
    _ = try connection.rowsOfText(
      """
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 45)
      INSERT INTO quarantine (partition, hash, quarantined_at, reason, kind, coder, value_version,
        byte_count, identity, value)
      SELECT 1, x'00', n, 'checksum', 'query', 'json', 1, 4000, 'a', zeroblob(4000) FROM numbers
      """)
    let version = try connection.dataVersion
    #expect(try Self.maintenance(scratch).dropQuarantine(nil) == 45)
    #expect(try connection.dataVersion > version)
    #expect(try connection.rowsOfText("SELECT count(*) FROM quarantine") == ["0"])
    try connection.close()
  }

  @Test func whereThereIsNoStoreNoneIsMade() throws {
    let scratch = try StorageScratch()
    #expect(throws: InspectionError.noStore(folders: [scratch.path])) {
      try Self.maintenance(scratch).vacuum()
    }
    #expect(try scratch.listing() == [])
  }
}
