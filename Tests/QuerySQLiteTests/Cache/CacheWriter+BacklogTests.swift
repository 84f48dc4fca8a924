import StorageTestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// Persistence §5: the limit of what waits, as a number.
@Suite struct CacheWriterBacklogTests {
  @Test(arguments: [(0, 2), (1, 1)])
  func whatHasAsManyBytesAsTheLimitStays(_ missing: Int, _ kept: Int) throws {
    let (table, store) = (StorageSlots(), UnreadStore())
    let slots = (0..<2).map { StorageSlot(identity: .sample($0), table: table, store: store) }
    for slot in slots {
      _ = slot.replaceChange(.write(StorageWrite { .sample(1, count: 10) }))
    }
    let bytes = slots.map(\.waitingBytes).reduce(0, +)
    #expect(bytes > 0)
    let cache = try CacheWriterScratch { $0.maximumBacklogBytes = bytes - missing }
    defer { cache.writer.stop() }
    cache.database.requeue(slots.map { QueuedSlot(slot: $0, partition: cache.partition) })
    cache.writer.trimBacklog()
    #expect(cache.database.queuedCount == kept)
    // The newest stays.
    #expect(slots[1].waitingBytes > 0)
    withExtendedLifetime((table, store)) {}
  }
}
