import StorageTestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// When the writer records which entries were used.
@Suite struct CacheWriterMaintenanceTests {
  /// A store that nobody reads.
  private final class Store: StoredStore {
    let path: QueryPath = ["sample", 1]
    func takeOver(_ entry: StoredEntry, ifChangesAre changeCount: Int) {}
    func resetAfterErasing() {}
  }

  private let folder: TemporaryFolder
  private let database: CacheDatabase
  private let partition = CachePartition(
    name: "", limits: CacheLimits(entries: 1_000, bytes: .max))

  private var writer: CacheWriter { self.database.thread.writer }

  init() throws {
    self.folder = try TemporaryFolder()
    self.database = try CacheDatabase(
      folder: self.folder.path, SQLiteQueryStorage.Configuration())
    _ = self.database.openPartitions.hold("", orAdd: self.partition)
    try self.writer.start(for: self.database)
    let connection = try self.writer.usableConnection()
    try self.writer.write(in: self.partition, connection) { changes in
      _ = try changes.write(.sample(1), identity: .sample(1))
      return true
    }
  }

  @Test func usesWaitForChangesAndAreRecordedWhenNoneIsLeft() throws {
    defer { self.writer.stop() }
    let (store, table) = (Store(), StorageSlots())
    let slot = StorageSlot(identity: .sample(2), table: table, store: store)
    _ = slot.replaceChange(.remove)
    self.database.requeue([QueuedSlot(slot: slot, partition: self.partition)])
    self.partition.countHit(.sample(1))
    let now = SuspendingClock.now
    self.writer.usesDue = now
    self.writer.maintain(now)
    #expect(self.partition.hasUses)
    #expect(self.writer.usesDue == now + LockWait.longestSleep)
    try self.writer.commitAll()
    self.writer.maintain(now + LockWait.longestSleep)
    #expect(!self.partition.hasUses)
    #expect(self.writer.usesDue == nil)
    withExtendedLifetime((store, table)) {}
  }

  @Test func changesThatNeverEndKeepUsesForSomeSecondsAlone() throws {
    defer { self.writer.stop() }
    let (store, table) = (Store(), StorageSlots())
    let slot = StorageSlot(identity: .sample(2), table: table, store: store)
    _ = slot.replaceChange(.remove)
    self.database.requeue([QueuedSlot(slot: slot, partition: self.partition)])
    self.partition.countHit(.sample(1))
    var (now, turns) = (SuspendingClock.now, 0)
    self.writer.usesDue = now
    while self.partition.hasUses, turns < 10_000 {
      self.writer.maintain(now)
      now += LockWait.longestSleep
      turns += 1
    }
    #expect(turns == 1_001)
    #expect(self.database.queuedCount == 1)
    withExtendedLifetime((store, table)) {}
  }
}
