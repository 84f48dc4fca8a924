import StorageTestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// What a second thread prepares while the writing thread writes.
@Suite struct PreparedBatchTests {
  private struct NotCoded: Error {}

  private let cache: CacheWriterScratch
  private let slots: [StorageSlot]
  // They live as long as the slots.
  private let table = StorageSlots()
  private let store = UnreadStore()

  init() throws {
    self.cache = try CacheWriterScratch()
    let (table, store) = (self.table, self.store)
    self.slots = (0..<300).map {
      StorageSlot(identity: .sample($0), table: table, store: store)
    }
  }

  private var queued: [QueuedSlot] {
    self.slots.map { QueuedSlot(slot: $0, partition: self.cache.partition) }
  }

  private static func write(_ count: Int) -> StorageWrite {
    StorageWrite { .sample(1, count: count) }
  }

  private func batch(of count: Int, maximumValueBytes: Int = .max) -> PreparedBatch {
    PreparedBatch(of: Array(self.queued.prefix(count)), maximumValueBytes: maximumValueBytes)
  }

  @Test(arguments: [1, 15, 16, 17, 100])
  func eachIsTakenOnceByItsWrite(_ count: Int) {
    let writes = (0..<count).map { _ in Self.write(10) }
    for (slot, write) in zip(self.slots, writes) { _ = slot.replaceChange(.write(write)) }
    let batch = self.batch(of: count)
    #expect(batch.take(writes[0], at: 0) == nil, "nothing is prepared")
    batch.prepare()
    for (index, write) in writes.enumerated() {
      #expect(batch.take(write, at: index)?.row.identity == self.slots[index].identity.text)
      #expect(batch.take(write, at: index) == nil)
    }
  }

  @Test func whatWasReplacedIsNotTaken() {
    _ = self.slots[0].replaceChange(.write(Self.write(10)))
    let batch = self.batch(of: 1)
    batch.prepare()
    let new = Self.write(20)
    _ = self.slots[0].replaceChange(.write(new))
    #expect(batch.take(new, at: 0) == nil)
  }

  @Test func onlyWhatCanBeWrittenIsPrepared() {
    let writes = [Self.write(100), StorageWrite { throw NotCoded() }, Self.write(10)]
    for (slot, write) in zip(self.slots, writes) { _ = slot.replaceChange(.write(write)) }
    _ = self.slots[3].replaceChange(.remove)
    let batch = self.batch(of: 5, maximumValueBytes: 50)
    batch.prepare()
    #expect(batch.take(writes[0], at: 0) == nil)
    #expect(batch.take(writes[1], at: 1) == nil)
    #expect(batch.take(writes[2], at: 2) != nil)
    #expect(batch.take(writes[2], at: 3) == nil)
    #expect(batch.take(writes[2], at: 4) == nil)
  }

  /// While the last one is coded, another one is replaced that may be prepared already.
  @Test func theNewestOfEachIsWritten() throws {
    defer { self.cache.writer.stop() }
    let replaced = self.slots[290]
    for slot in self.slots { _ = slot.replaceChange(.write(Self.write(10))) }
    _ = self.slots[280].replaceChange(
      .write(
        StorageWrite {
          _ = replaced.replaceChange(.write(Self.write(20)))
          return .sample(1, count: 10)
        }))
    self.cache.database.requeue(self.queued)
    try self.cache.writer.commitAll()
    // A change that replaced a taken one was announced separately.
    self.cache.database.requeue(self.queued)
    try self.cache.writer.commitAll()
    let connection = try self.cache.writer.usableConnection()
    let sizes = try connection.rows("SELECT length(value) FROM entries ORDER BY identity") {
      Int(try $0.integer(at: 0))
    }
    #expect(sizes.count == self.slots.count)
    #expect(sizes.filter { $0 == sizes.max() }.count == 1)
    #expect(self.slots.allSatisfy { $0.unwrittenChange == nil })
  }
}
