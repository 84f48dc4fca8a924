import CSQLite
import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §6: hydration never waits; if the database is busy, the value comes late.
@Suite(.warningsAreIssues) struct LateReadTests {
  /// Takes all readers of a storage until it is told to give them back.
  private final class Occupation: Sendable {
    private let end = DispatchSemaphore(value: 0)
    private let group = DispatchGroup()
    private let count: Int

    init(of storage: SQLiteQueryStorage, count: Int = 2) {
      self.count = count
      let begin = DispatchSemaphore(value: 0)
      for _ in 0..<count {
        let thread = Thread { [end, group] in
          let answer: Void? = try? storage.database.readers.tryRead { _ in
            begin.signal()
            end.wait()
          }
          #expect(answer != nil)
          group.leave()
        }
        self.group.enter()
        thread.start()
        begin.wait()
      }
    }

    func finish() {
      for _ in 0..<self.count { self.end.signal() }
      self.group.wait()
    }
  }

  /// A frame has time for a value of 64 KiB.
  @Test func theDefaultLimitOfASynchronousHydrationIsWhatAFrameAllows() {
    #expect(SQLiteQueryStorage.Configuration().synchronousHydrationLimit == 65_536)
    #expect(MemoryQueryStorage().synchronousHydrationLimit == 65_536)
  }

  @Test func whereAllReadersAreTakenTheValueComesLate() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored"])
    let occupation = Occupation(of: storage)
    let store = storage.store("a")
    #expect(store.currentValue == nil)
    #expect(store.origin == .initial)
    occupation.finish()
    await store.hydrated()
    #expect(store.currentValue == "stored")
    #expect(try store.origin == .storage(storedAt: #require(store.valueLastUpdatedAt)))
    try await storage.close()
  }

  @Test func aValueThatComesLateNeverReplacesANewerOne() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored"])
    let occupation = Occupation(of: storage)
    let store = storage.store("a")
    store.currentValue = "edited"
    occupation.finish()
    await store.hydrated()
    #expect(store.currentValue == "edited")
    try await storage.flush()
    #expect(await storage.text("a") == "edited")
    try await storage.close()
  }

  @Test func manyStoresThatComeLateAllGetTheirValues() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.readConnections = 1 }
    let names = (0..<100).map { "\($0)" }
    try await storage.set(Dictionary(uniqueKeysWithValues: names.map { ($0, $0) }))
    let occupation = Occupation(of: storage, count: 1)
    let stores = names.map { storage.store($0) }
    occupation.finish()
    for (name, store) in zip(names, stores) {
      await store.hydrated()
      #expect(store.currentValue == name)
    }
    try await storage.close()
  }

  /// As if another process is about to recover the WAL.
  @Test func whereTheFileIsBusyTheValueComesLate() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "stored"]) }
    let vfs = FaultVFS()
    // It has no connection yet that reads.
    let storage = try scratch.storage { $0.vfs = vfs.name }
    vfs.fail(.read, nth: 1, persistently: true, with: SQLITE_BUSY)
    let store = storage.store("a")
    #expect(store.currentValue == nil)
    // The late read finds it busy, too, and goes on.
    let failures = vfs.failures
    while vfs.failures < failures + 3 { try await Task.sleep(for: .milliseconds(1)) }
    vfs.disarm()
    await store.hydrated()
    #expect(store.currentValue == "stored")
    #expect(!storage.statistics.isDegraded)
    try await storage.close()
  }

  @Test func aWriterInALongTransactionHoldsUpNoReader() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored"])
    let connection = try scratch.connection()
    try connection.write {
      _ = try connection.rowsOfText("UPDATE entries SET value = x'00'")
      let store = storage.store("a")
      #expect(store.currentValue == "stored")
      storage.store("b").currentValue = "edited"
      #expect(storage.store("b").currentValue == "edited")
      _ = try connection.rowsOfText(#"UPDATE entries SET value = CAST('"stored"' AS BLOB)"#)
    }
    try await storage.flush()
    #expect(await storage.text("b") == "edited")
    try connection.close()
    try await storage.close()
  }

  @Test func aValueAboveTheLimitIsDecodedLate() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.synchronousHydrationLimit = 1_000 }
    let text = String(repeating: "x", count: 10_000)
    try await storage.set(["large": text, "small": "x"])
    #expect(storage.store("small").currentValue == "x")
    let store = storage.store("large")
    await store.hydrated()
    #expect(store.currentValue == text)
    try await storage.close()
  }

  /// Otherwise a store that is made meanwhile would show that the storage is closed.
  @Test func aReadWaitsUntilItsAccountIsOpened() async throws {
    let cache = try CacheWriterScratch()
    let other = CachePartition(name: "other", limits: CacheLimits(entries: 1_000, bytes: .max))
    let isOver = Locked(false)
    let reading = Task {
      defer { isOver.withLock { $0 = true } }
      return await cache.database.readLater(.sample(1), in: other)
    }
    while !cache.database.thread.isAwake, !isOver.withLock({ $0 }) { await Task.yield() }
    #expect(!isOver.withLock { $0 })
    cache.writer.prepare([other])
    // The read has its turn after that.
    cache.database.thread.start {}
    let result = await reading.value
    guard case .miss(.absent) = result else {
      Issue.record("\(result)")
      return
    }
    cache.database.thread.stop(completion: nil)
    cache.database.thread.waitUntilEnded(atMost: .seconds(300))
  }

  /// Otherwise a store that is made meanwhile would show what was erased: it is not reset with those that were
  /// there before.
  @Test func aReadWaitsUntilAllErasuresOfItsAccountAreOver() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "stored"])
    let (database, partition) = (storage.database, storage.partition)
    let identity = try QueryIdentity(path: ["texts", "a"])
    partition.beginErasing()
    partition.beginErasing()
    let reading = Task { await database.readLater(identity, in: partition) }
    while partition.waitingReaders == 0 { await Task.yield() }
    // The turn of the writing thread, and the end of one erasure, are not the end of both.
    try await database.perform { _ in }
    partition.endErasing()
    #expect(partition.waitingReaders == 1)
    try await database.perform { try $0.erase(partition) }
    partition.endErasing()
    guard case .miss(.absent) = await reading.value else {
      Issue.record("what was erased is read")
      return
    }
    #expect(!partition.isErasing)
    try await storage.close()
  }
}
