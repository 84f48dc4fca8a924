import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §5: when changes are written.
@Suite(.warningsAreIssues) struct WriteTimingTests {
  private static let hour = Duration.seconds(3_600)

  @Test func aChangeIsCommittedAfterTheWriteDelayWithoutAFlush() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let events = storage.events
    storage.store("a").currentValue = "edited"
    #expect(await events.contains(.committed(entries: 1)))
    #expect(try scratch.rows("SELECT CAST(value AS TEXT) FROM entries") == [#""edited""#])
    try await storage.close()
  }

  @Test func aThousandChangesAreCommittedBeforeTheWriteDelayHasPassed() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = Self.hour }
    let events = storage.events
    for number in 0..<1_000 { storage.store("\(number)").currentValue = "edited" }
    #expect(await events.contains { if case .committed = $0 { true } else { false } })
    try await storage.close()
    #expect(storage.statistics.entries == 1_000)
  }

  @Test func fourMebibytesAreCommittedBeforeTheWriteDelayHasPassed() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = Self.hour }
    let events = storage.events
    let text = String(repeating: "x", count: 1 << 20)
    for number in 0..<5 { storage.store("\(number)").currentValue = text }
    #expect(await events.contains { if case .committed = $0 { true } else { false } })
    try await storage.close()
  }

  @Test func oneChangeOfFourMebibytesIsCommittedBeforeTheWriteDelayHasPassed() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = Self.hour }
    let events = storage.events
    storage.store("a").currentValue = String(repeating: "x", count: 5 << 20)
    #expect(await events.contains(.committed(entries: 1)))
    try await storage.close()
  }

  @Test func aMarkThatWaitsComesWithWhatIsStored() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = Self.hour }
    try await storage.set(["a": "edited"])
    storage.store("a").invalidate()
    let marked = storage.store("a")
    #expect(marked.currentValue == "edited" && marked.isInvalidated)
    let other = try scratch.connection()
    try other.write { try other.execute("DELETE FROM entries") }
    try other.close()
    let removed = storage.store("a")
    #expect(removed.currentValue == nil && !removed.isInvalidated)
    try await storage.close()
    #expect(try scratch.rows("SELECT * FROM entries") == [])
  }

  @Test func ofTheChangesOfAnEntryTheNewestIsWrittenAlone() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = Self.hour }
    let store = storage.store("a")
    for number in 1...100 { store.currentValue = "\(number)" }
    try await storage.flush()
    #expect(storage.statistics.writes == 1)
    #expect(storage.statistics.commits == 1)
    #expect(await storage.text("a") == "100")
    try await storage.close()
  }

  @Test func flushWaitsForAllThatWasHandedOverBeforeFromManyTasksAtOnce() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = Self.hour }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for round in 0..<20 {
            let name = "\(task)-\(round)"
            storage.store(name).currentValue = "edited"
            try await storage.flush()
            let sql = "SELECT count(*) FROM entries WHERE identity = '[\"texts\",\"\(name)\"]'"
            #expect(try scratch.rows(sql) == ["1"])
          }
        }
      }
      try await group.waitForAll()
    }
    try await storage.close()
  }

  @Test func flushReturnsWhileOthersGoOnWriting() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let isDone = Locked(false)
    async let writers: Void = runOnThreads(2) { thread in
      let stores = (0..<50).map { storage.store("\(thread)-\($0)") }
      var round = 0
      while !isDone.withLock({ $0 }) {
        round += 1
        for store in stores { store.currentValue = "\(round)" }
      }
    }
    for number in 0..<10 {
      storage.store("own").currentValue = "\(number)"
      try await storage.flush()
      #expect(await storage.text("own") == "\(number)")
    }
    isDone.withLock { $0 = true }
    await writers
    try await storage.close()
  }

  @Test func removingBeatsAPendingWriteOfTheSameEntry() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = Self.hour }
    try await storage.set(["stored": "old"])
    for name in ["stored", "new"] {
      let store = storage.store(name)
      store.currentValue = "edited"
      store.reset()
      #expect(storage.store(name).currentValue == nil)
    }
    try await storage.flush()
    #expect(try scratch.rows("SELECT identity FROM entries") == [])
    try await storage.close()
  }

  @Test func aWriteThatComesAfterARemovalIsWritten() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = Self.hour }
    let store = storage.store("a")
    store.currentValue = "old"
    store.reset()
    store.currentValue = "new"
    try await storage.flush()
    #expect(try scratch.rows("SELECT CAST(value AS TEXT) FROM entries") == [#""new""#])
    try await storage.close()
  }
}
