import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryReplay

/// Days of a person in the field, in no time: a network that comes and goes, portals, servers that are
/// down, slow, limiting, failing, that lose answers and refuse credentials, and restarts. In the end
/// each server has each write once and in order, and none came later than it had to.
@Suite(.warningsAreIssues) struct FieldDayTests {
  private static let isFull = ProcessInfo.processInfo.environment["FULL"] != nil

  @Test(arguments: SeededGenerator.seeds(1))
  func serversAreRightAndNoWriteIsLate(seed: UInt64) async throws {
    let clock = MockQueryClock()
    let (writes, days) = Self.isFull ? (10_000, 7) : (1_000, 1)
    let plan = FieldPlan(seed: seed, writes: writes, days: days)
    try await self.live(plan, seed: seed, clock, MemoryQueryStorage(clock: clock))
  }

  @Test(arguments: [3]) func soItIsOnDisk(seed: UInt64) async throws {
    let clock = MockQueryClock()
    let folder = try ScratchFolder()
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.clock = clock
    let storage = try SQLiteQueryStorage(directory: folder.url, configuration: configuration)
    let plan = FieldPlan(seed: seed, writes: Self.isFull ? 10_000 : 300, days: 1)
    try await self.live(plan, seed: seed, clock, storage)
    try await storage.close()
  }

  private func live(
    _ plan: FieldPlan, seed: UInt64, _ clock: MockQueryClock, _ storage: any QueryStorage
  ) async throws {
    let world = FieldWorld(clock, seed: seed)
    var day = FieldDay(plan, world, clock, storage, seed: seed)
    try await day.run()
    let counts = try storage.outbox.counts
    #expect(counts.pending == 0 && counts.leased == 0, "seed \(seed): \(counts)")
    #expect(counts.dead == day.refused, "seed \(seed)")
    #expect(world.differences == [], "seed \(seed)")
    #expect(world.faults.prefix(10) == [], "seed \(seed)")
    // Past failures have pauses of 5 min at most, slow answers hold all slots for a while, and what
    // waits is spread over 2 s when the network is back.
    let bound = Duration.seconds(300 + FieldPlan.longestAnswer + 2)
    let lateness = world.lateness
    let share = { lateness[Int(Double(lateness.count - 1) * $0)].late }
    #expect(!lateness.isEmpty)
    let summary = """
      seed \(seed), \(world.calls) requests, late by \(share(0.5)) (half), \(share(0.9)) (90 %), \
      \(share(0.99)) (99 %)
      """
    let late = lateness.filter { $0.late > bound }
    #expect(late.count == 0, "\(summary): \(late.count) late, as \(late.suffix(5).map(\.what))")
    if Self.isFull { print(summary, lateness.suffix(3).map(\.what)) }
  }
}
