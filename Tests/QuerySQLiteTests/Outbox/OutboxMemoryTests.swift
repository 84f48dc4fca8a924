import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// What a transaction has left in memory is of use to the next one as long as nobody else has committed.
@Suite struct OutboxMemoryTests {
  /// An outbox that has seen a mutation succeed, and so knows that nobody depends on one, nor waits for an
  /// alias; and the lease of another one.
  private func scratch() async throws -> (OutboxScratch, MutationLease) {
    let scratch = try OutboxScratch()
    try await scratch.add("first")
    let first = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(first, OutboxScratch.success))
    try await scratch.add("second")
    return (scratch, try #require(try await scratch.claim().first))
  }

  @Test func aCancellationByAnotherProcessIsSeenByTheSettle() async throws {
    let (scratch, lease) = try await self.scratch()
    try scratch.damage("UPDATE outbox SET is_cancel_requested = 1")
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.failure(.now)))
    let record = try scratch.outbox.history(of: "note", instance: "[]").last
    #expect(record?.state == .ended(.cancelled))
    try await scratch.storage.close()
  }

  @Test func oneByThisProcessIsSeenToo() async throws {
    let (scratch, lease) = try await self.scratch()
    #expect(try await !scratch.outbox.cancel(lease.entry.id))
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.failure(.now)))
    let record = try scratch.outbox.history(of: "note", instance: "[]").last
    #expect(record?.state == .ended(.cancelled))
    try await scratch.storage.close()
  }

  @Test func aLeaseThatAnotherProcessTookSettlesNothing() async throws {
    let (scratch, lease) = try await self.scratch()
    try scratch.damage("UPDATE outbox SET lease_token = lease_token + 1")
    #expect(try await !scratch.outbox.settle(lease, OutboxScratch.success))
    #expect(try scratch.outbox.counts.rows == OutboxCounts(leased: 1))
    try await scratch.storage.close()
  }

  @Test func whatAnotherProcessMadeDependOnItIsReleased() async throws {
    let (scratch, lease) = try await self.scratch()
    let dependant = try await scratch.add("third")
    try scratch.damage("INSERT INTO dependencies (dependant, target) VALUES (3, 2)")
    try scratch.damage("UPDATE lane_heads SET state = 'dependency' WHERE number = 3")
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    #expect(try scratch.rows("SELECT count(*) FROM dependencies") == ["0"])
    #expect(try await scratch.claim().map(\.entry.id) == [dependant])
    try await scratch.storage.close()
  }

  @Test func whatAnotherProcessMadeWaitInVainIsDead() async throws {
    let (scratch, lease) = try await self.scratch()
    let waiting = try await scratch.add("third")
    try scratch.damage("UPDATE outbox SET awaited_alias = 'nobody' WHERE number = 3")
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    #expect(try scratch.outbox.entry(waiting)?.deadReason == .dependency)
    try await scratch.storage.close()
  }

  @Test func aPauseByAnotherProcessHoldsTheNextOneBack() async throws {
    let (scratch, lease) = try await self.scratch()
    try scratch.damage("UPDATE partitions SET paused_at = 1, revision = revision + 1")
    let enqueued = try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: true)
    #expect(enqueued.lease == nil)
    #expect(enqueued.entry.waitReason == .paused)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    try await scratch.storage.close()
  }

  @Test func countsOfAnotherProcessAreKept() async throws {
    let (scratch, lease) = try await self.scratch()
    try scratch.damage("UPDATE partitions SET dead_count = dead_count + 5")
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    #expect(try scratch.outbox.counts.rows == OutboxCounts(dead: 5))
    try await scratch.storage.close()
  }

  @Test func theHistoryIsPrunedThoughAnotherProcessHasRemovedSome() async throws {
    let clock = BootClock()
    let scratch = try OutboxScratch {
      $0.mutationHistory = MutationHistoryLimits(perMutation: 8, days: 0)
      $0.outboxClock = clock.clock
    }
    for number in 1...40 {
      clock.advance(seconds: 86_400)
      let enqueued = try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: true)
      let lease = try #require(enqueued.lease)
      #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
      let count = try #require(try scratch.rows("SELECT count(*) FROM history").first)
      #expect(Int(count) ?? .max <= 10)
      if number % 7 == 0 {
        try scratch.damage(
          "DELETE FROM history WHERE sequence = (SELECT min(sequence) FROM history)")
      }
    }
    #expect(try scratch.outbox.history(of: "note", instance: "[]").count <= 8)
    try await scratch.storage.close()
  }

  /// They are not counted again at each end.
  @Test func aFewMoreThanAMutationMayHaveAreKeptUntilTheyGoTogether() async throws {
    let clock = BootClock()
    let scratch = try OutboxScratch {
      $0.mutationHistory = MutationHistoryLimits(perMutation: 8, days: 0)
      $0.outboxClock = clock.clock
    }
    var counts = [String]()
    for _ in 0..<14 {
      clock.advance(seconds: 86_400)
      let enqueued = try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: true)
      let lease = try #require(enqueued.lease)
      #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
      counts += try scratch.rows("SELECT count(*) FROM history")
    }
    #expect(counts == (Array(1...10) + [8, 9, 10, 8]).map { "\($0)" })
    try await scratch.storage.close()
  }

  /// What one end leaves of them is known to the next one.
  @Test func eachEndRemovesSomeOfTooManyUnderALowerLimit() async throws {
    let (folder, clock) = (try TemporaryFolder(), BootClock())
    func end(_ count: Int, perMutation: Int) async throws -> [String] {
      let scratch = try OutboxScratch(in: folder) {
        $0.mutationHistory = MutationHistoryLimits(perMutation: perMutation, total: 0, days: 0)
        $0.outboxClock = clock.clock
      }
      var counts = [String]()
      for _ in 0..<count {
        let enqueued = try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: true)
        let lease = try #require(enqueued.lease)
        #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
        counts += try scratch.rows("SELECT count(*) FROM history")
      }
      try await scratch.storage.close()
      return counts
    }
    #expect(try await end(150, perMutation: 0).last == "150")
    clock.advance(seconds: 86_400)
    let batch = OutboxTransaction.prunedAtOnce
    #expect(
      try await end(5, perMutation: 4)
        == [151 - batch, 152 - 2 * batch, 4, 5, 5].map { "\($0)" })
  }

  /// All accounts of a file share one sequence of numbers, and one of ends.
  @Test func noNumberIsGivenToTwoAccounts() async throws {
    let folder = try TemporaryFolder()
    let scratches = try ["", "a", "b"].map { try OutboxScratch(in: folder, partition: $0) }
    for _ in 0..<3 { for scratch in scratches { try await scratch.add() } }
    // Side by side, so that one transaction changes several.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<300 {
        let scratch = scratches[number % 3]
        group.addTask { try await scratch.add() }
      }
      try await group.waitForAll()
    }
    for _ in 0..<3 { for scratch in scratches { try await scratch.add() } }
    #expect(
      try scratches[0].rows("SELECT count(*), max(number) FROM outbox").first == "318 318")
    // Whichever account ends one, its sequence is the next.
    for _ in 0..<4 {
      for scratch in scratches {
        let lease = try #require(try await scratch.claim().first)
        #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
      }
    }
    #expect(
      try scratches[0].rows("SELECT count(*), max(sequence) FROM history").first == "12 12")
    for scratch in scratches { try await scratch.storage.close() }
  }

  /// None of them takes a number of the other's, which would undo the transaction of all.
  @Test func theMutationsOfTwoAccountsInTurnAreCommittedTogether() async throws {
    let folder = try TemporaryFolder()
    let scratches = try ["a", "b"].map { try OutboxScratch(in: folder, partition: $0) }
    for scratch in scratches { try await scratch.add() }
    let database = scratches[0].storage.mutations.database
    let before = database.commits
    let gate = DispatchSemaphore(value: 0)
    database.thread.perform { _ in gate.wait() }
    while database.thread.count > 0 { await Task.yield() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        let scratch = scratches[number % 2]
        group.addTask { try await scratch.add() }
        while database.thread.count < number + 1 { await Task.yield() }
      }
      gate.signal()
      try await group.waitForAll()
    }
    #expect(database.commits - before == 1)
    #expect(
      try scratches[0].rows("SELECT count(*), max(number) FROM outbox").first == "6 6")
    for scratch in scratches { try await scratch.storage.close() }
  }

  @Test func aNumberThatAnotherProcessHasTakenIsNotGivenAgain() async throws {
    let (scratch, lease) = try await self.scratch()
    try scratch.damage("UPDATE partitions SET last_number = 7, last_sequence = 9")
    let enqueued = try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
    #expect(enqueued.entry.number == 8)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    #expect(try scratch.rows("SELECT max(sequence) FROM history") == ["10"])
    try await scratch.storage.close()
  }
}
