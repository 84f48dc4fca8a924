import StorageTestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// When the writer records which entries were used.
@Suite struct CacheWriterMaintenanceTests {
  private let cache: CacheWriterScratch
  private let store = UnreadStore()
  private let table = StorageSlots()

  private var partition: CachePartition { self.cache.partition }
  private var writer: CacheWriter { self.cache.writer }

  init() throws {
    self.cache = try CacheWriterScratch()
    try self.cache.write(1..<2)
  }

  /// Lets a change wait to be written.
  private func queueChange() {
    let slot = StorageSlot(identity: .sample(2), table: self.table, store: self.store)
    _ = slot.replaceChange(.remove)
    self.cache.database.requeue([QueuedSlot(slot: slot, partition: self.partition)])
  }

  @Test func usesWaitForChangesAndAreRecordedWhenNoneIsLeft() throws {
    defer { self.writer.stop() }
    self.queueChange()
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
  }

  @Test func changesThatNeverEndKeepUsesForSomeSecondsAlone() throws {
    defer { self.writer.stop() }
    self.queueChange()
    self.partition.countHit(.sample(1))
    var (now, turns) = (SuspendingClock.now, 0)
    self.writer.usesDue = now
    while self.partition.hasUses, turns < 10_000 {
      self.writer.maintain(now)
      now += LockWait.longestSleep
      turns += 1
    }
    #expect(turns == 1_001)
    #expect(self.cache.database.queuedCount == 1)
  }

  /// Those that were put back, and those that came since.
  @Test func anErasedAccountHasNoUses() throws {
    defer { self.writer.stop() }
    self.partition.countHit(.sample(1))
    self.partition.putBack(uses: self.partition.takeUses())
    self.partition.countHit(.sample(2))
    try self.writer.erase(self.partition)
    #expect(!self.partition.hasUses)
  }

  /// Room behind the last page is for a disk that is nearly full.
  @Test func aFileOnADiskWithRoomIsAsLongAsItsPages() throws {
    defer { self.writer.stop() }
    let connection = try self.writer.usableConnection()
    _ = try connection.checkpoint(.reset)
    self.writer.maintain(.now)
    try self.cache.write(2..<100)
    _ = try connection.checkpoint(.reset)
    let numbers = try ["page_count", "page_size"].map { name in
      try #require(try connection.rowsOfText("PRAGMA \(name)").first.flatMap { Int($0) })
    }
    #expect(numbers[0] > 3)
    #expect(DatabaseFiles().size(of: connection.path) == numbers[0] * numbers[1])
  }
}
