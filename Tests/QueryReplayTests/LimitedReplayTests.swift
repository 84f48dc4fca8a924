import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplay

/// Replayers that send the mutations of one lane, or a certain number of them.
@Suite struct LimitedReplayTests {
  @Test func onlyMutationsOfTheLaneAreSentInTheirOrder() async throws {
    let scratch = ReplayScratch(.connected, ReplayConfiguration(lane: "inbox"))
    let runner = try scratch.runner()
    try await scratch.enqueue(2)
    try await scratch.enqueue(2, lane: "other")
    let ids = try await scratch.enqueue(3, lane: "inbox")
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(succeeded: 3, waiting: 4))
    #expect(runner.calls.elements.map(\.entry.id) == ids)
  }

  @Test func aReplayEndsWhenItsAttemptsAreUsedUp() async throws {
    let scratch = ReplayScratch(.connected, ReplayConfiguration(maximumAttempts: 3))
    let runner = try scratch.runner()
    let ids = try await scratch.enqueue(10)
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(succeeded: 3, waiting: 7))
    #expect(Set(runner.calls.elements.map(\.entry.id)) == Set(ids.prefix(3)))
    #expect(
      try await scratch.replayer.replayOnce() == ReplaySummary(waiting: 7),
      "they are those of all runs")
  }

  @Test func anAttemptThatFailsIsOneOfThem() async throws {
    let scratch = ReplayScratch(.connected, ReplayConfiguration(maximumAttempts: 3))
    let runner = try scratch.runner { _ in .failure(.transient(retryAfter: nil), .now) }
    try await scratch.enqueue()
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(failed: 1))
    #expect(runner.calls.count == 3)
  }

  @Test func aRunThatWouldGoOnForEverEndsByItselfThenAndWaitsForWhatRuns() async throws {
    let scratch = ReplayScratch(.connected, ReplayConfiguration(maximumAttempts: 2))
    let gate = Gate()
    let runner = try scratch.runner { _ in
      try await gate.pass()
      return .success
    }
    try await scratch.enqueue(5)
    let run = Task { try await scratch.replayer.run() }
    await gate.arrival(2)
    gate.open()
    try await run.value
    #expect(runner.calls.count == 2)
    #expect(try scratch.outbox.counts.rows == OutboxCounts(pending: 3))
  }

  @Test func noAttemptsAreNone() async throws {
    let scratch = ReplayScratch(.connected, ReplayConfiguration(maximumAttempts: -1))
    let runner = try scratch.runner()
    try await scratch.enqueue()
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(waiting: 1))
    try await scratch.replayer.run()
    #expect(runner.calls.count == 0)
  }
}
