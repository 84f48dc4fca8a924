import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// The tools: `check` finds each kind of damage, says where, and finds nothing in a sound store.
@Suite struct StoreCheckTests {
  /// What is wrong with a cache, as SQL of another program, and what is found of it.
  struct Damage: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let sql: [String]
    let found: [InspectionFinding.Kind]
  }

  private static let damages = [
    Damage(
      testDescription: "a flipped value",
      sql: ["UPDATE entries SET value = zeroblob(length(value)) WHERE kind = 'query' AND id = 1"],
      found: [.wrongChecksum]),
    Damage(
      testDescription: "a value without a checksum",
      sql: ["UPDATE entries SET checksum = NULL WHERE id = 1"], found: [.wrongChecksum]),
    Damage(
      testDescription: "a wrong hash", sql: ["UPDATE entries SET hash = zeroblob(16) WHERE id = 1"],
      found: [.wrongHash]),
    Damage(
      testDescription: "a hash that is none",
      sql: ["UPDATE entries SET hash = zeroblob(3) WHERE id = 1"], found: [.unreadableRow]),
    Damage(
      testDescription: "a wrong size",
      sql: ["UPDATE entries SET byte_count = byte_count + 1 WHERE id = 1"],
      found: [.wrongSize, .wrongTotals]),
    Damage(
      testDescription: "a flipped page",
      sql: [
        "UPDATE pages SET value = zeroblob(length(value)) WHERE position = 0 AND page_id <> x''"
      ],
      found: [.wrongChecksum]),
    Damage(
      testDescription: "a missing page",
      sql: ["DELETE FROM pages WHERE position > 0"], found: [.wrongPages]),
    Damage(
      testDescription: "pages in another order",
      sql: ["UPDATE pages SET position = -position WHERE position > 0"], found: [.wrongPages]),
    Damage(
      testDescription: "pages without a checksum",
      sql: ["UPDATE entries SET checksum = NULL WHERE kind = 'infinite'"], found: [.wrongPages]),
    Damage(
      testDescription: "pages without their entry",
      sql: ["DELETE FROM entries WHERE kind = 'infinite'"], found: [.orphanPages]),
    Damage(
      testDescription: "an entry of no account",
      sql: ["UPDATE entries SET partition = 77 WHERE id = 1"],
      found: [.missingReference, .wrongTotals]),
    Damage(
      testDescription: "wrong totals",
      sql: ["UPDATE partitions SET entry_count = 99", "UPDATE entries SET total_entries = 99"],
      found: [.wrongTotals]),
    Damage(
      testDescription: "a newer file",
      sql: [
        "PRAGMA user_version = 3",
        "INSERT INTO migrations VALUES (2, 'two', zeroblob(16), 0), (3, 'three', zeroblob(16), 0)",
      ], found: [.newerFile]),
    Damage(
      testDescription: "a foreign file",
      sql: ["PRAGMA application_id = 7", "UPDATE migrations SET name = 'theirs'"],
      found: [.foreignFile]),
    Damage(testDescription: "nothing", sql: [], found: []),
  ]

  private static func findings(in folder: String) throws -> [InspectionFinding] {
    var findings = [InspectionFinding]()
    try StoreInspection(directory: URL(filePath: folder)).check { findings.append($0) }
    return findings
  }

  private static func fill(_ scratch: StorageScratch) async throws {
    try await scratch.withStorage { storage in
      try await storage.set(["a": "text"])
      try await storage.set(["large": String(repeating: "large ", count: 1_000), "b": "text"])
      let pages = QueryClient(storage: storage).store(for: StoredPages().persisted())
      for _ in 0..<3 { _ = try await pages.fetchNextPage() }
      try await storage.flush()
    }
  }

  @Test(arguments: damages)
  func eachDamageOfTheCacheIsFound(_ damage: Damage) async throws {
    let scratch = try StorageScratch()
    try await Self.fill(scratch)
    var options = SQLiteConnection.Options.patient
    options.keepsReferences = false
    let connection = try SQLiteConnection(path: "\(scratch.path)/cache.sqlite", options: options)
    for sql in damage.sql { _ = try connection.rowsOfText(sql) }
    try connection.close()
    let findings = try Self.findings(in: scratch.path)
    #expect(findings.map(\.kind) == damage.found, "\(findings)")
  }

  /// Of a query that has done nothing but fail so far.
  @Test func anEntryOfAFailureAloneIsSound() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { storage in
      let store = QueryClient(storage: storage).store(for: StoredQuery<Int>.failing.persisted())
      _ = try? await store.fetch()
      try await storage.flush()
    }
    let sql = "SELECT count(*) FROM entries WHERE checksum ISNULL AND value ISNULL"
    #expect(try scratch.rows(sql) == ["1"])
    #expect(try Self.findings(in: scratch.path) == [])
  }

  @Test(arguments: [1, 20, 100, 600, 5_000, 20_000])
  func aTruncatedFileIsAFindingOrAnError(_ length: Int) async throws {
    let scratch = try StorageScratch()
    try await Self.fill(scratch)
    let handle = try FileHandle(forUpdating: URL(filePath: "\(scratch.path)/cache.sqlite"))
    try handle.truncate(atOffset: UInt64(length))
    try handle.close()
    let findings = try Self.findings(in: scratch.path)
    #expect(!findings.isEmpty)
  }

  @Test func aSoundStoreWithALiveOutboxHasNoFindings() async throws {
    let scratch = try OutboxScratch()
    try await scratch.storage.set(["a": "text"])
    try await scratch.add("first", lane: "a")
    try await scratch.add("second", lane: "a")
    _ = try await scratch.claim()
    #expect(try Self.findings(in: scratch.folder.path) == [])
    try await scratch.storage.close()
    #expect(try Self.findings(in: scratch.folder.path) == [])
  }

  private static let mutationDamages = [
    Damage(
      testDescription: "flipped arguments", sql: ["UPDATE outbox SET arguments = x'00'"],
      found: [.wrongMutation]),
    Damage(
      testDescription: "a state that is none", sql: ["UPDATE outbox SET state = 'odd'"],
      found: [.unreadableRow, .wrongTotals]),
    Damage(testDescription: "no heads", sql: ["DELETE FROM lane_heads"], found: [.wrongHeads]),
    Damage(
      testDescription: "wrong counts", sql: ["UPDATE partitions SET dead_count = 3"],
      found: [.wrongTotals]),
    Damage(
      testDescription: "a missing body", sql: ["UPDATE outbox SET body_file = 'gone'"],
      found: [.wrongMutation, .missingBody]),
    Damage(
      testDescription: "a body elsewhere", sql: ["UPDATE outbox SET body_file = '../a'"],
      found: [.wrongMutation, .missingBody]),
    Damage(
      testDescription: "an edge from nowhere", sql: ["INSERT INTO dependencies VALUES (99, 1)"],
      found: [.missingReference]),
  ]

  @Test(arguments: mutationDamages)
  func eachDamageOfTheOutboxIsFound(_ damage: Damage) async throws {
    let scratch = try OutboxScratch()
    try await scratch.add("text", lane: "a")
    try await scratch.storage.close()
    var options = SQLiteConnection.Options.patient
    options.keepsReferences = false
    let connection = try SQLiteConnection(path: scratch.path, options: options)
    for sql in damage.sql { _ = try connection.rowsOfText(sql) }
    try connection.close()
    let findings = try Self.findings(in: scratch.folder.path)
    #expect(findings.map(\.kind) == damage.found, "\(findings)")
  }

  @Test(arguments: [
    (sql: "outbox_sequence = 1", found: [InspectionFinding.Kind]()),
    (sql: "outbox_sequence = 2", found: [.wrongMark]),
    (sql: "outbox_sequence = -1", found: [.wrongMark]),
    (sql: "included_keys = 'key'", found: [.wrongMark]),
  ])
  func aMarkBeyondTheHistoryIsFound(
    _ mark: (sql: String, found: [InspectionFinding.Kind])
  ) async throws {
    let scratch = try OutboxScratch()
    try await scratch.storage.set(["a": "text"])
    try await scratch.storage.flush()
    try await scratch.add("sent")
    for lease in try await scratch.claim() {
      _ = try await scratch.storage.outbox.settle(
        lease, .succeeded(SuccessfulAttempt(result: nil)))
    }
    try await scratch.storage.close()
    let folder = scratch.folder.path
    let connection = try SQLiteConnection(path: "\(folder)/cache.sqlite")
    _ = try connection.rowsOfText("UPDATE entries SET \(mark.sql)")
    try connection.close()
    #expect(try Self.findings(in: folder).map(\.kind) == mark.found)
    // A copy of the cache alone has nothing to compare with.
    guard mark.sql.contains("2") else { return }
    for file in try FileManager.default.contentsOfDirectory(atPath: folder)
    where file.hasPrefix("mutations") {
      try FileManager.default.removeItem(atPath: "\(folder)/\(file)")
    }
    #expect(try Self.findings(in: folder) == [])
  }

  @Test(arguments: [
    (sql: "last_sequence = -1", found: [InspectionFinding.Kind.wrongMark, .wrongTotals]),
    (sql: "last_sequence = \(Int64.max)", found: [.wrongTotals]),
    (sql: "last_number = \(Int64.min)", found: [.wrongTotals]),
  ])
  func anImpossibleNewestNumberIsFound(
    _ damage: (sql: String, found: [InspectionFinding.Kind])
  ) async throws {
    let scratch = try OutboxScratch()
    try await scratch.storage.set(["a": "text"])
    try await scratch.storage.flush()
    try await scratch.add()
    try await scratch.storage.close()
    let cache = try SQLiteConnection(path: "\(scratch.folder.path)/cache.sqlite")
    _ = try cache.rowsOfText("UPDATE entries SET outbox_sequence = 0")
    try cache.close()
    let connection = try SQLiteConnection(path: scratch.path)
    _ = try connection.rowsOfText("UPDATE partitions SET \(damage.sql)")
    try connection.close()
    #expect(try Self.findings(in: scratch.folder.path).map(\.kind) == damage.found)
  }

  @Test func anAccountThatIsNotThereIsNotWell() async throws {
    let scratch = try StorageScratch()
    try await Self.fill(scratch)
    let store = try StoreInspection(directory: URL(filePath: scratch.path))
    #expect(throws: InspectionError.unknownPartition("other", known: [""])) {
      try store.check("other") { Issue.record("\($0)") }
    }
    // Whether a file that cannot be read has it, nobody knows.
    let connection = try scratch.connection()
    _ = try connection.rowsOfText("PRAGMA application_id = 7")
    _ = try connection.rowsOfText("UPDATE migrations SET name = 'theirs'")
    try connection.close()
    var findings = [InspectionFinding]()
    try StoreInspection(directory: URL(filePath: scratch.path)).check("other") {
      findings.append($0)
    }
    #expect(findings.map(\.kind) == [.foreignFile])
  }

  @Test func aLeaseThatEndedLongAgoIsFound() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add()
    let leases = try await scratch.claim()
    let end = OutboxClock.system.now().monotonic - 3_600_000_000
    let connection = try SQLiteConnection(path: scratch.path)
    _ = try connection.rowsOfText("UPDATE outbox SET lease_end_monotonic = \(end)")
    try connection.close()
    let findings = try Self.findings(in: scratch.folder.path)
    #expect(findings.map(\.kind) == [.endedLease])
    #expect(findings.first?.subject == leases.first?.entry.id.uuidString.lowercased())
    try await scratch.storage.close()
  }

  @Test func aLeaseOfAKilledProcessIsFound() async throws {
    let folder = try TemporaryFolder()
    let worker = try WorkerProcess("lease", folder.path)
    var lines = worker.lines.makeAsyncIterator()
    let line = try #require(await lines.next())
    #expect(try Self.findings(in: folder.path) == [])
    worker.killNow()
    _ = await worker.waitForEnd()
    let findings = try Self.findings(in: folder.path)
    #expect(findings.map(\.kind) == [.ownerGone])
    #expect(findings.first?.subject == line.split(separator: " ").last?.lowercased())
  }

  @Test func randomDamageIsAFindingOrAnErrorAndNeverACrash() async throws {
    let scratch = try StorageScratch()
    try await Self.fill(scratch)
    let url = URL(filePath: "\(scratch.path)/cache.sqlite")
    let sound = try Data(contentsOf: url)
    var generator = SeededGenerator(seed: 11)
    let rounds = ProcessInfo.processInfo.environment["FULL"] == "1" ? 1_000 : 50
    for round in 0..<rounds {
      var bytes = sound
      for _ in 0..<Int.random(in: 1...40, using: &generator) {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      if Bool.random(using: &generator) {
        bytes = bytes.prefix(Int.random(in: 0..<bytes.count, using: &generator))
      }
      try bytes.write(to: url)
      let store: StoreInspection
      do {
        store = try StoreInspection(directory: URL(filePath: scratch.path))
      } catch InspectionError.noStore {
        continue
      }
      do {
        try store.check { _ in }
        try store.entries(EntryQuery(sort: .size)) { entry in
          _ = try? store.value(named: entry.hash.description)
        }
        _ = try store.statistics(now: 0)
        _ = try store.export("", withOutbox: true) { _ in }
      } catch is InspectionError {
      } catch {
        Issue.record("round \(round): \(error)")
      }
    }
  }
}
