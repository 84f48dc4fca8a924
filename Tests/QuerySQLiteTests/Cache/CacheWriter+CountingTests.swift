import StorageTestSupport
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
}
