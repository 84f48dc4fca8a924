import Query
import StorageTestSupport
import Testing

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
    self.writer.didWrite(1, in: self.partition)
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
    self.writer.didWrite(300, in: self.partition)
    let connection = try self.writer.usableConnection()
    func rows() -> [Int] { self.writer.evictions.map { $0.budget(on: connection).rows } }
    #expect(rows() == [602])
    self.writer.evictions[0].written = 100
    #expect(rows() == [PendingEviction.rowsPerTurn])
    // Also on a slow disk.
    connection.stepShare = 0.1
    #expect(rows() == [200])
    self.writer.evictions[0].written = 5
    #expect(rows() == [20])
    // As many as a commit writes there: a turn follows at once.
    let entries = self.partition.statistics.entries
    self.writer.didWrite(94, in: self.partition)
    #expect(self.partition.statistics.entries == entries)
    self.writer.didWrite(1, in: self.partition)
    #expect(self.partition.statistics.entries == 900)
  }

  @Test func whatWasBegunIsDroppedWithTheFile() throws {
    defer { self.writer.stop() }
    try self.write(0..<1_001)
    self.writer.letGoOfFile()
    #expect(!self.writer.hasChores)
  }
}
