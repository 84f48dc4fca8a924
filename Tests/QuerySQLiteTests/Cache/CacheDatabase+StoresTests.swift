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
}
