import StorageTestSupport
import Synchronization
import Testing

@testable import Query
@testable import QuerySQLite

/// Persistence §5: what waits is written ahead of its time once it is much. Nobody tells the thread how many
/// bytes a change has, so it looks again and again.
@Suite struct CacheWriterCountingTests {
  @Test func whatWaitsForHoursIsLookedAtAgainAndAgain() throws {
    let (table, store) = (StorageSlots(), UnreadStore())
    let slot = StorageSlot(identity: .sample(1), table: table, store: store)
    _ = slot.replaceChange(.write(StorageWrite { .sample(1, count: 10) }))
    let cache = try CacheWriterScratch { $0.writeDelay = .seconds(3_600) }
    defer { cache.writer.stop() }
    // So that nothing else is due.
    cache.writer.neighbours.unfollow()
    try #require(cache.writer.nextDue == nil)
    cache.database.requeue([QueuedSlot(slot: slot, partition: cache.partition)])
    for _ in 0..<3 {
      let due = try #require(cache.writer.nextDue)
      #expect(due <= .now + cache.writer.configuration.countingDelay)
      cache.writer.work()
      #expect(cache.database.queuedCount == 1)
    }
    withExtendedLifetime((table, store)) {}
  }

  @Test func aValueThatChangesAgainIsNotEncodedForItsSize() throws {
    let (table, store) = (StorageSlots(), UnreadStore())
    let slot = StorageSlot(identity: .sample(1), table: table, store: store)
    let encodings = Mutex(0)
    func change(bytes: Int) {
      let write = StorageWrite {
        encodings.withLock { $0 += 1 }
        return .sample(1, count: bytes)
      }
      _ = slot.replaceChange(.write(write))
    }
    let cache = try CacheWriterScratch { $0.writeDelay = .seconds(3_600) }
    defer { cache.writer.stop() }
    let queue = [QueuedSlot(slot: slot, partition: cache.partition)]
    change(bytes: 10)
    cache.database.requeue(queue)
    cache.writer.work()
    #expect(encodings.withLock { $0 } == 1)
    change(bytes: CacheWriter.maximumBatchBytes)
    cache.writer.work()
    #expect(encodings.withLock { $0 } == 1)
    #expect(cache.database.queuedCount == 1)
    // It has become much, which is found once it has waited.
    let queuedSince = try #require(cache.database.queuedSince)
    #expect(cache.writer.isDue(queuedSince, queuedSince + .seconds(1)))
    #expect(encodings.withLock { $0 } == 2)
    // What is written tells the size of the next change.
    try cache.writer.commitAll()
    change(bytes: 10)
    cache.database.requeue(queue)
    #expect(cache.writer.isDue(queuedSince, queuedSince))
    #expect(encodings.withLock { $0 } == 2)
    withExtendedLifetime((table, store)) {}
  }
}
