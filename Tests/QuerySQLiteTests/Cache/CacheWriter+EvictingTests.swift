import StorageTestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// Persistence §7: evicting keeps no caller waiting. The test is the thread: what it does between two
/// turns is what the thread serves between them.
@Suite struct CacheWriterEvictingTests {
  private let cache: CacheWriterScratch

  private var database: CacheDatabase { self.cache.database }
  private var partition: CachePartition { self.cache.partition }
  private var writer: CacheWriter { self.cache.writer }

  init() throws { self.cache = try CacheWriterScratch() }

  private func write(_ numbers: Range<Int>) throws {
    try self.cache.write(numbers)
    self.writer.didGrow(by: 1, in: self.partition)
  }

  private func rows(_ sql: String) throws -> [String] {
    try self.writer.usableConnection().rowsOfText(sql)
  }

  @Test func aFlushBetweenTwoTurnsIsServedBetweenThem() throws {
    defer { self.writer.stop() }
    try self.write(0..<2_000)
    #expect(self.partition.statistics.entries == 2_000)
    var (turns, last) = (0, 2_000)
    while self.partition.statistics.entries > 900 {
      #expect(self.writer.hasChores)
      self.writer.work()
      #expect(self.writer.nextDue != nil)
      turns += 1
      let entries = self.partition.statistics.entries
      #expect(entries < last && last - entries <= PendingEviction.rowsPerTurn)
      last = entries
      // The flush.
      let number = 2_000 - turns
      self.database.invalidate(
        try IdentityPrefix(path: ["sample", number]), in: self.partition)
      try self.writer.commitAll()
      #expect(self.database.firstInvalidation == nil)
      #expect(self.partition.statistics.entries == entries)
    }
    #expect(turns >= 6)
    #expect(
      try self.rows("SELECT count(*) FROM entries WHERE invalidated_at <> 0") == ["\(turns)"])
    #expect(self.partition.statistics.evictions == 1_100)
  }

  @Test func theFileShrinksAfterThatInTurns() throws {
    defer { self.writer.stop() }
    try self.write(0..<1_200)
    while self.partition.statistics.entries > 900 { self.writer.work() }
    #expect(try self.rows("PRAGMA freelist_count") != ["0"])
    while self.writer.hasChores { self.writer.work() }
    #expect(try self.rows("PRAGMA freelist_count") == ["0"])
    #expect(self.partition.statistics.entries == 900)
  }

  @Test func moreGoThanComeMeanwhile() throws {
    defer { self.writer.stop() }
    try self.write(0..<1_001)
    self.writer.didGrow(by: 300, in: self.partition)
    let connection = try self.writer.usableConnection()
    func rows() -> [Int] { self.writer.evictions.map { $0.budget(on: connection).rows } }
    #expect(rows() == [602])
    self.writer.evictions[0].grown = 100
    #expect(rows() == [PendingEviction.rowsPerTurn])
    self.writer.evictions[0].grown = 70
    #expect(rows() == [PendingEviction.rowsPerTurn], "few that come take nothing of a turn")
    self.writer.evictions[0].grown = 100
    // Also on a slow disk.
    connection.stepShare = 0.1
    #expect(rows() == [200])
    self.writer.evictions[0].grown = 5
    #expect(rows() == [20])
    // As many as a commit writes there: a turn follows at once.
    let entries = self.partition.statistics.entries
    self.writer.didGrow(by: 94, in: self.partition)
    #expect(self.partition.statistics.entries == entries)
    self.writer.didGrow(by: 1, in: self.partition)
    #expect(self.partition.statistics.entries == 900)
  }

  @Test func oneThatChangesAgainAndAgainMakesNoTurnLonger() throws {
    defer { self.writer.stop() }
    try self.write(0..<1_001)
    let connection = try self.writer.usableConnection()
    func rows() -> [Int] { self.writer.evictions.map { $0.budget(on: connection).rows } }
    self.writer.evictions[0].grown = 0
    let (table, store) = (StorageSlots(), UnreadStore())
    let slot = StorageSlot(identity: .sample(5), table: table, store: store)
    for _ in 0..<300 {
      _ = slot.replaceChange(.write(StorageWrite { .sample(5, count: 100) }))
      self.database.write(slot, in: self.partition)
      try self.writer.commitAll()
    }
    withExtendedLifetime((table, store)) {}
    #expect(self.partition.statistics.writes == 300)
    #expect(rows() == [PendingEviction.rowsPerTurn])
  }

  /// Or a caller that goes on writing would leave the limit behind.
  @Test func manyNewOnesAreFollowedByAnEvictionAtOnce() throws {
    defer { self.writer.stop() }
    try self.write(0..<1_000)
    let (table, store) = (StorageSlots(), UnreadStore())
    let slots = (1_000..<3_500).map { number in
      let slot = StorageSlot(identity: .sample(number), table: table, store: store)
      _ = slot.replaceChange(.write(StorageWrite { .sample(number, count: 100) }))
      self.database.write(slot, in: self.partition)
      return slot
    }
    try self.writer.commitAll()
    withExtendedLifetime((table, store, slots)) {}
    // As many as there is time for: how long the turn holds the lock is bounded, however slow the machine is.
    #expect(self.partition.statistics.evictions > 0)
    let connection = try self.writer.usableConnection()
    let pending = PendingEviction(partition: self.partition, grown: 1_000)
    #expect(pending.budget(on: connection).rows == 2_000)
  }

  @Test func aPartitionGrowsByEntriesOrByTheirBytes() {
    func totals(_ entries: Int, _ bytes: Int) -> CacheChanges.Totals {
      CacheChanges.Totals(entries: entries, bytes: bytes, revision: 1)
    }
    let before = totals(100, 10_000)
    #expect(before.growth(since: before) == 0)
    #expect(totals(130, 12_000).growth(since: before) == 30)
    #expect(totals(100, 20_000).growth(since: before) == 50, "each has 200 bytes now")
    #expect(totals(90, 9_000).growth(since: before) == 0, "it has shrunk")
    #expect(totals(0, 0).growth(since: before) == 0)
  }

  @Test func whatWasBegunIsDroppedWithTheFile() throws {
    defer { self.writer.stop() }
    try self.write(0..<1_001)
    self.writer.letGoOfFile()
    #expect(!self.writer.hasChores)
  }
}
