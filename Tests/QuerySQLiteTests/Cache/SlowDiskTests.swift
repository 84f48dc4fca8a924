import Foundation
import StorageTestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// A checkpoint keeps writers out for as long as the disk needs for what commits have written, so that
/// on a slow one the commits are shorter.
@Suite struct SlowDiskTests {
  /// The time of a step ends one sooner beside other work.
  @Test(arguments: [(1.0, 1..<50), (0.1, 3..<100), (0.0001, 250..<251)])
  func aCommitWritesAsManyChangesAsTheDiskTakesInTime(
    _ share: Double, _ commits: Range<Int>
  ) throws {
    let cache = try CacheWriterScratch()
    defer { cache.writer.stop() }
    let slots = Self.queue(250, in: cache)
    try cache.writer.usableConnection().stepShare = share
    try cache.writer.commitAll()
    #expect(commits.contains(cache.partition.statistics.commits))
    #expect(cache.partition.statistics.entries == 250)
    withExtendedLifetime(slots) {}
  }

  /// Lets changes wait.
  ///
  /// - Returns: What they need until they are written.
  private static func queue(_ count: Int, in cache: CacheWriterScratch) -> some Any {
    let (table, store) = (StorageSlots(), UnreadStore())
    let slots = (0..<count).map {
      StorageSlot(identity: .sample($0), table: table, store: store)
    }
    for (number, slot) in slots.enumerated() {
      _ = slot.replaceChange(.write(StorageWrite { .sample(number, count: 10) }))
    }
    cache.database.requeue(slots.map { QueuedSlot(slot: $0, partition: cache.partition) })
    return (table, store)
  }

  /// The connection is asked before each pause whether it is alone. After a long hold there is another pause.
  @Test(arguments: [(1, 0...0), (50, 49...Int.max)])
  func othersGetTheirTurnBetweenTwoCommits(_ commits: Int, _ turns: ClosedRange<Int>) throws {
    let cache = try CacheWriterScratch()
    defer { cache.writer.stop() }
    let slots = Self.queue(commits, in: cache)
    let connection = try cache.writer.usableConnection()
    (connection.stepShare, connection.writeHolds) = (0, WriteHolds())
    var asked = 0
    connection.isAlone = {
      asked += 1
      return true
    }
    try cache.writer.commitAll()
    #expect(cache.partition.statistics.commits == commits)
    #expect(turns.contains(asked))
    withExtendedLifetime(slots) {}
  }

  /// A step's time begins with the lock: beside a neighbour that holds it for long, each transaction would mark
  /// one entry.
  @Test func waitingForTheLockIsNoPartOfAStep() throws {
    let cache = try CacheWriterScratch()
    defer { cache.writer.stop() }
    try cache.write(0..<100)
    let commits = cache.partition.statistics.commits
    let other = try DatabaseOpener(kind: .cache, folder: cache.writer.opener.folder).openWriter()
    try other.pragma("BEGIN IMMEDIATE")
    // The thread has it until it has signalled.
    nonisolated(unsafe) let held = other
    let hasLetGo = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      usleep(UInt32(3 * StepBudget.callersTime.microseconds))
      _ = try? held.pragma("ROLLBACK")
      hasLetGo.signal()
    }
    cache.database.invalidate(try IdentityPrefix(path: []), in: cache.partition)
    try cache.writer.commitAll()
    hasLetGo.wait()
    try other.close()
    #expect(cache.partition.statistics.commits == commits + 1)
  }
}
