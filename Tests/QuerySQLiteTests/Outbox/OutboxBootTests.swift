import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Replay §10, on the rows themselves.
@Suite struct OutboxBootTests {
  private let clock = BootClock()

  private func scratch(in folder: TemporaryFolder? = nil) throws -> OutboxScratch {
    try OutboxScratch(in: folder) { $0.outboxClock = self.clock.clock }
  }

  private func next(_ scratch: OutboxScratch) async throws -> ClaimAnswer {
    try await scratch.outbox.claim(ClaimRequest(.lowest(handledBy: [OutboxScratch.handler])))
  }

  @Test(arguments: [(40.0, 20), (-1e9, 60), (1e9, 0)])
  func aWaitGoesOnAfterARestartOfTheSystem(_ wall: Double, _ left: Int) async throws {
    let first = try self.scratch()
    try await first.add()
    let lease = try #require(try await first.claim().first)
    _ = try await first.outbox.settle(
      lease, OutboxScratch.failure(.wait(.backoff, .seconds(60))))
    try await first.storage.close()
    self.clock.edit { time in
      time.bootID = "boot-b"
      (time.boottime, time.monotonic) = (5_000_000, 5_000_000)
      time.wall += wall
    }
    let second = try self.scratch(in: first.folder)
    let answer = try await self.next(second)
    #expect(answer.leases.count == (left == 0 ? 1 : 0))
    if left > 0 {
      #expect(answer.nextDue == .seconds(left))
      self.clock.advance(seconds: left)
      #expect(try await self.next(second).leases.count == 1)
    }
    try await second.storage.close()
  }

  @Test(arguments: [true, false])
  func onlyAClockThatIsRightMakesTheHistoryTooOld(_ isSynchronised: Bool) async throws {
    let clock = BootClock()
    let scratch = try OutboxScratch { $0.outboxClock = clock.clock }
    let first = try await scratch.add()
    let lease = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    clock.edit { time in
      time.wall += 10 * 365 * 86_400
      time.isSynchronised = isSynchronised
    }
    let second = try await scratch.add()
    let next = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(next, OutboxScratch.success))
    let ended = try scratch.outbox.history(of: "note", instance: "[]").map(\.id)
    #expect(ended == (isSynchronised ? [second] : [first, second]))
    try await scratch.storage.close()
  }

  @Test(arguments: [true, false])
  func onlyAClockThatIsRightMakesAMutationTooOld(_ isSynchronised: Bool) async throws {
    let first = try self.scratch()
    var mutation = OutboxScratch.mutation()
    mutation.maxAge = .seconds(3_600)
    let id = try await first.outbox.enqueue(mutation, claiming: false).entry.id
    try await first.storage.close()
    self.clock.edit { time in
      time.bootID = "boot-b"
      (time.boottime, time.monotonic) = (5_000_000, 5_000_000)
      time.wall += 86_400
      time.isSynchronised = isSynchronised
    }
    let second = try self.scratch(in: first.folder)
    let answer = try await self.next(second)
    #expect(answer.expired == (isSynchronised ? 1 : 0))
    #expect(answer.leases.count == (isSynchronised ? 0 : 1))
    if isSynchronised {
      #expect(try second.outbox.entry(id)?.deadReason == .expired)
      try await second.outbox.retry(id)
      #expect(try await self.next(second).leases.count == 1, "its age counts anew")
    }
    try await second.storage.close()
  }

  @Test func aClockThatWentBackBehindARightOneMakesNothingOld() async throws {
    let first = try self.scratch()
    var mutation = OutboxScratch.mutation()
    mutation.maxAge = .seconds(3_600)
    _ = try await first.outbox.enqueue(mutation, claiming: false)
    self.clock.advance(seconds: 100)
    #expect(try first.rows("SELECT synchronised_at FROM clock") == ["1700000000000000"])
    try first.damage("UPDATE clock SET synchronised_at = 1800000000000000")
    try await first.storage.close()
    self.clock.edit { time in
      time.bootID = "boot-b"
      (time.boottime, time.monotonic) = (5_000_000, 5_000_000)
      time.wall += 86_400
    }
    let second = try self.scratch(in: first.folder)
    #expect(try await self.next(second).expired == 0)
    try await second.storage.close()
  }

  /// Their age is told by the wall clock, which may be set, so that it is looked at again and again.
  @Test(arguments: [true, false])
  func onlyRowsOfEarlierBootsAreLookedAtAgain(_ isOfEarlierBoot: Bool) async throws {
    let first = try self.scratch()
    var mutation = OutboxScratch.mutation()
    mutation.maxAge = .seconds(3_600)
    _ = try await first.outbox.enqueue(mutation, claiming: false)
    try await first.storage.close()
    if isOfEarlierBoot {
      self.clock.edit { time in
        time.bootID = "boot-b"
        (time.boottime, time.monotonic) = (5_000_000, 5_000_000)
      }
    }
    let second = try self.scratch(in: first.folder)
    let database = second.storage.mutations.database
    let hasFound = try await database.write(in: second.storage.mutations.partition) { changes in
      try changes.expireOlder(after: 0, StepBudget.rows(10))
      return changes.outcome.hasRowsOfEarlierBoots
    }
    #expect(hasFound == isOfEarlierBoot)
    let (isScheduled, isNeeded) = await withCheckedContinuation { continuation in
      let partition = second.storage.mutations.partition
      database.thread.perform { writer in
        let isNeeded = writer.isNeeded(.expireOlder(after: 0), partition)
        continuation.resume(returning: (writer.olderExpiries[""] != nil, isNeeded))
      }
    }
    #expect(isScheduled == isOfEarlierBoot && isNeeded == isOfEarlierBoot)
    #expect(try second.outbox.counts.pending == 1)
    try await second.storage.close()
  }

  /// A transaction that changes nothing would put off the checkpoint, and one that comes late would let
  /// those wait who want to know what became of their mutation.
  @Test func theWriterBeginsNothingBeforeARowIsTooOld() async throws {
    let scratch = try self.scratch()
    let (database, partition) = (
      scratch.storage.mutations.database, scratch.storage.mutations.partition
    )
    // The time passes on the writing thread, which would look by itself otherwise.
    func look(after seconds: Int = 0) async -> (isNeeded: Bool, isLookedAtAgain: Bool) {
      await withCheckedContinuation { continuation in
        database.thread.perform { [clock] writer in
          clock.advance(seconds: seconds)
          writer.expiries = [:]
          let isNeeded = writer.isNeeded(.expire, partition)
          continuation.resume(returning: (isNeeded, writer.expiries[""] != nil))
          writer.expiries = [:]
        }
      }
    }
    try await scratch.add("may wait for ever")
    #expect(await look() == (false, false))
    var mutation = OutboxScratch.mutation()
    mutation.maxAge = .seconds(3_600)
    let id = try await scratch.outbox.enqueue(mutation, claiming: false).entry.id
    #expect(await look(after: 3_600) == (false, true), "it is not older than it may be")
    #expect(await look(after: 1) == (true, false))
    #expect(try await scratch.outbox.cancel(id))
    #expect(await look() == (false, false), "nobody waits for it any more")
    try await scratch.storage.close()
  }
}
