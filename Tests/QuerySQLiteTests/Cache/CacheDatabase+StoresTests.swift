import StorageTestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// What stores submit.
@Suite struct CacheDatabaseStoresTests {
  /// Before that they are gathered.
  @Test func changesWakeTheThreadWhenTheyFillATransaction() throws {
    let cache = try CacheWriterScratch()
    defer { cache.writer.stop() }
    let (table, store) = (StorageSlots(), UnreadStore())
    let slot = StorageSlot(identity: .sample(1), table: table, store: store)
    for _ in 1..<CacheWriter.maximumBatch { cache.database.write(slot, in: cache.partition) }
    #expect(!cache.database.thread.isAwake)
    cache.database.write(slot, in: cache.partition)
    #expect(cache.database.thread.isAwake)
    withExtendedLifetime((table, store)) {}
  }

  /// However long the others would wait for more.
  @Test func changesThatFillATransactionAreWrittenAtOnce() throws {
    let cache = try CacheWriterScratch { $0.writeDelay = .seconds(3_600) }
    defer { cache.writer.stop() }
    let (table, store) = (StorageSlots(), UnreadStore())
    let slot = StorageSlot(identity: .sample(1), table: table, store: store)
    _ = slot.replaceChange(.remove)
    for _ in 1..<CacheWriter.maximumBatch { cache.database.write(slot, in: cache.partition) }
    cache.writer.work()
    #expect(cache.database.queuedCount == CacheWriter.maximumBatch - 1)
    cache.database.write(slot, in: cache.partition)
    cache.writer.work()
    #expect(cache.database.queuedCount == 0)
    withExtendedLifetime((table, store)) {}
  }

  /// By their bytes, which are few changes'.
  @Test func valuesThatFillATransactionAreWrittenAtOnce() throws {
    let cache = try CacheWriterScratch { $0.writeDelay = .seconds(3_600) }
    defer { cache.writer.stop() }
    let (table, store) = (StorageSlots(), UnreadStore())
    let slots = (0..<4).map { StorageSlot(identity: .sample($0), table: table, store: store) }
    for slot in slots.dropLast() {
      let bytes = CacheWriter.maximumBatchBytes / 4
      _ = slot.replaceChange(.write(StorageWrite { .sample(1, count: bytes) }))
      cache.database.write(slot, in: cache.partition)
    }
    cache.writer.work()
    #expect(cache.database.queuedCount == 3)
    let rest = CacheWriter.maximumBatchBytes - cache.database.queuedBytes
    _ = slots[3].replaceChange(.write(StorageWrite { .sample(1, count: rest) }))
    cache.database.write(slots[3], in: cache.partition)
    cache.writer.work()
    #expect(cache.database.queuedCount == 0)
    withExtendedLifetime((table, store)) {}
  }
}
