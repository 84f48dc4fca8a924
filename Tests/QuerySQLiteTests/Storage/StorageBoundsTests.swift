import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §7: what a storage may have.
@Suite(.warningsAreIssues) struct StorageBoundsTests {
  private static let tenKilobytes = String(repeating: "x", count: 10_000)

  /// Writes texts of 10 KB, a commit for each ten, and returns when none of their stores lives.
  ///
  /// - Parameter count: How many other stores live.
  private static func write(
    _ names: [String],
    to storage: SQLiteQueryStorage,
    besides count: Int = 0
  ) async throws {
    for start in stride(from: 0, to: names.count, by: 10) {
      for name in names[start..<min(start + 10, names.count)] {
        let store = storage.store(name)
        await store.hydrated()
        store.currentValue = Self.tenKilobytes
      }
      try await storage.flush()
      // The task of a late read has the slot a moment longer than its store.
      while storage.slots.all.count > count { await Task.yield() }
    }
  }

  /// Returns when the storage has nothing more to evict, and has given back what it has freed.
  private static func settle(_ storage: SQLiteQueryStorage) async throws {
    var hasChores = true
    while hasChores {
      hasChores = await withCheckedContinuation { continuation in
        storage.database.thread.perform { continuation.resume(returning: $0.hasChores) }
      }
    }
  }

  @Test func theLimitOfEntriesHoldsAfterThreeTimesAsManyWithATenthToSpare() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumEntries = 100 }
    let events = storage.events
    try await Self.write((0..<100).map { "\($0)" }, to: storage)
    #expect(storage.statistics.entries == 100)
    #expect(storage.statistics.evictions == 0)
    try await Self.write(["one more"], to: storage)
    // A slow machine does it in several steps.
    var evicted = 0
    for await event in events {
      if case .evicted(let count) = event { evicted += count }
      if evicted >= 11 { break }
    }
    #expect(evicted == 11)
    #expect(storage.statistics.entries == 90)
    try await Self.write((101..<300).map { "\($0)" }, to: storage)
    try await Self.settle(storage)
    #expect((90...100).contains(storage.statistics.entries))
    #expect(try scratch.rows("SELECT count(*) FROM entries") == ["\(storage.statistics.entries)"])
    #expect(storage.statistics.evictions == 300 - storage.statistics.entries)
    // Those that were written last are there.
    for number in 211..<300 { #expect(await storage.text("\(number)") != nil) }
    #expect(await storage.text("0") == nil)
    try await storage.close()
  }

  @Test func theLimitOfBytesHoldsAfterThreeTimesAsManyAndTheFileShrinks() async throws {
    let scratch = try StorageScratch()
    let limit = 1 << 20
    let storage = try scratch.storage { $0.maximumBytes = limit }
    try await Self.write((0..<320).map { "\($0)" }, to: storage)
    try await Self.settle(storage)
    #expect(storage.statistics.bytes <= limit)
    #expect(storage.statistics.bytes > limit * 8 / 10)
    #expect(
      try scratch.rows("SELECT sum(byte_count) FROM entries") == ["\(storage.statistics.bytes)"])
    #expect(try scratch.rows("PRAGMA freelist_count") == ["0"])
    try await storage.close()
    // Values of 10 KB fill two thirds of their pages at the least.
    #expect(scratch.size(of: "cache.sqlite") < limit * 3 / 2)
  }

  @Test func theFileShrinksWhenALargeValueGoes() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumEntries = 10 }
    try await storage.set(["large": String(repeating: "x", count: 8 << 20)])
    try await Self.write((0..<10).map { "\($0)" }, to: storage)
    try await Self.settle(storage)
    #expect(await storage.text("large") == nil)
    try await storage.close()
    #expect(scratch.size(of: "cache.sqlite") < 1 << 20)
  }

  @Test func whatIsPinnedAndWhatLivesStays() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumEntries = 50 }
    try await storage.set(
      ["pinned": Self.tenKilobytes], PersistenceOptions(isPinned: true))
    let living = storage.store("living")
    living.currentValue = Self.tenKilobytes
    try await Self.write((0..<150).map { "\($0)" }, to: storage, besides: 1)
    try await Self.settle(storage)
    #expect(storage.statistics.entries <= 50)
    let found = try scratch.rows(
      "SELECT identity FROM entries WHERE identity LIKE '%ing%' OR identity LIKE '%pinned%'")
    #expect(found.count == 2)
    withExtendedLifetime(living) {}
    try await storage.close()
  }

  @Test func partitionsHaveBoundsOfTheirOwn() async throws {
    let scratch = try StorageScratch()
    let small = try scratch.storage(partition: "small") { $0.maximumEntries = 10 }
    let large = try scratch.storage(partition: "large") { $0.maximumEntries = 1_000 }
    try await Self.write((0..<100).map { "\($0)" }, to: large)
    try await Self.write((0..<100).map { "\($0)" }, to: small)
    try await Self.settle(small)
    #expect(small.statistics.entries <= 10)
    #expect(large.statistics.entries == 100)
    try await small.close()
    try await large.close()
  }

  @Test func whatWasHydratedCountsAsUsedWhenTheUsesAreWritten() async throws {
    let scratch = try StorageScratch()
    var storage = try scratch.storage()
    try await Self.write((0..<20).map { "\($0)" }, to: storage)
    #expect(await storage.text("0") != nil)
    #expect(await storage.text("3") != nil)
    // Closing writes down what was used.
    try await storage.close()
    storage = try scratch.storage { $0.maximumEntries = 20 }
    try await Self.write(["one more"], to: storage)
    try await Self.settle(storage)
    let found = try scratch.rows("SELECT identity FROM entries ORDER BY id")
    #expect(found.count == 18)
    #expect(found.first == #"["texts","0"]"#)
    #expect(found.contains(#"["texts","3"]"#))
    #expect(!found.contains(#"["texts","1"]"#))
    try await storage.close()
  }

  @Test func whatHasExpiredGoesFirst() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumEntries = 20 }
    try await Self.write((0..<19).map { "\($0)" }, to: storage)
    let options = PersistenceOptions(maxAge: .seconds(1))
    // By its clock it was written years ago.
    storage.store("expired", options, clock: TestClock()).currentValue = "old"
    try await storage.flush()
    #expect(storage.statistics.entries == 20)
    try await Self.write(["one more"], to: storage)
    try await Self.settle(storage)
    let found = try scratch.rows("SELECT identity FROM entries")
    #expect(!found.contains(#"["texts","expired"]"#))
    #expect(found.contains(#"["texts","2"]"#))
    try await storage.close()
  }

  @Test func hydratingWritesNothingForAMinute() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored"])
    try await storage.set(["b": "stored"])
    let (before, log) = (storage.statistics, scratch.size(of: "cache.sqlite-wal"))
    for _ in 0..<100 { #expect(await storage.text("a") == "stored") }
    try await storage.flush()
    #expect(storage.statistics.hits == before.hits + 100)
    #expect(storage.statistics.commits == before.commits)
    #expect(storage.statistics.bytesWritten == before.bytesWritten)
    #expect(scratch.size(of: "cache.sqlite-wal") == log)
    try await storage.close()
    #expect(try scratch.rows("SELECT identity FROM entries WHERE last_use > 0").count == 1)
  }

  /// Not its uses either, however long ago the last ones were.
  @Test func aLaunchThatOnlyReadsLeavesTheFilesAsTheyWere() async throws {
    let scratch = try StorageScratch()
    var storage = try scratch.storage()
    try await Self.write((0..<30).map { "\($0)" }, to: storage)
    try await storage.close()
    let before = try Self.files(of: scratch)
    storage = try scratch.storage { $0.maximumEntries = 20 }
    for number in 0..<30 { #expect(await storage.text("\(number)") != nil) }
    try await storage.flush()
    // SQLite makes an empty one for each connection that reads.
    #expect(scratch.size(of: "cache.sqlite-wal") == 0)
    #expect(storage.statistics.bytesWritten == 0)
    #expect(storage.statistics.commits == 0)
    try await storage.close()
    #expect(try Self.files(of: scratch) == before)
  }

  /// The names of the files, with the bytes and the times at which they were changed.
  private static func files(of scratch: StorageScratch) throws -> [String] {
    let manager = FileManager.default
    return try manager.contentsOfDirectory(atPath: scratch.path).sorted().map { name in
      let path = "\(scratch.path)/\(name)"
      let date = try manager.attributesOfItem(atPath: path)[.modificationDate] as? Date
      let hash = XXH128(hashing: try Data(contentsOf: URL(filePath: path)))
      return "\(name) \(hash) \(date?.timeIntervalSince1970 ?? 0)"
    }
  }

  @Test func aValueAboveTheLimitIsNotStoredAndWarnedOf() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumValueBytes = 1_000 }
    let name = UUID().uuidString
    let identity = QueryIdentity(canonicalText: #"["texts","\#(name)"]"#)
    try await storage.set([name: "small"])
    let warning = QueryWarning.valueTooLarge(identity: identity, bytes: 10_002, limit: 1_000)
    try await withExpectedWarnings([warning], about: name) {
      let store = storage.store(name)
      store.currentValue = Self.tenKilobytes
      try await storage.flush()
      #expect(store.currentValue == Self.tenKilobytes)
    }
    // What was there before stays.
    #expect(await storage.text(name) == "small")
    try await storage.close()
  }

  @Test func aValueOfAHundredMegabytesIsStoredWhereTheLimitAllowsIt() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumValueBytes = 200_000_000 }
    let text = String(repeating: "x", count: 100_000_000)
    try await storage.set(["a": text])
    try await storage.close()
    let next = try scratch.storage { $0.maximumValueBytes = 200_000_000 }
    #expect(await next.text("a")?.utf8.count == 100_000_000)
    try await next.close()
  }
}
