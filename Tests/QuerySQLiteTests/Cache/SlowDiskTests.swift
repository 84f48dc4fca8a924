import StorageTestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// A checkpoint keeps writers out for as long as the disk needs for what commits have written, so that
/// on a slow one the commits are shorter.
@Suite struct SlowDiskTests {
  @Test(arguments: [(1.0, 1), (0.1, 3), (0.0001, 250)])
  func aCommitWritesAsManyChangesAsTheDiskTakesInTime(_ share: Double, _ commits: Int) throws {
    let cache = try CacheWriterScratch()
    defer { cache.writer.stop() }
    let (table, store) = (StorageSlots(), UnreadStore())
    let slots = (0..<250).map {
      StorageSlot(identity: .sample($0), table: table, store: store)
    }
    for (number, slot) in slots.enumerated() {
      _ = slot.replaceChange(.write(StorageWrite { .sample(number, count: 10) }))
    }
    cache.database.requeue(slots.map { QueuedSlot(slot: $0, partition: cache.partition) })
    try cache.writer.usableConnection().stepShare = share
    try cache.writer.commitAll()
    #expect(cache.partition.statistics.commits == commits)
    #expect(cache.partition.statistics.entries == 250)
    withExtendedLifetime((table, store)) {}
  }
}
