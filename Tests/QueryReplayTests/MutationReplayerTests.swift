import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplay

@Suite struct MutationReplayerTests {
  @Test func runSendsWhatIsThereAndWhatComesLater() async throws {
    let scratch = ReplayScratch()
    let runner = try scratch.runner()
    let early = try await scratch.enqueue(2)
    try await scratch.whileRunning {
      await runner.calls.wait(forCount: 2)
      let late = try await scratch.enqueue(2)
      let calls = await runner.calls.wait(forCount: 4)
      #expect(Set(calls.prefix(2).map(\.entry.id)) == Set(early))
      #expect(Set(calls.suffix(2).map(\.entry.id)) == Set(late))
    }
    #expect(try scratch.outbox.counts.rows == OutboxCounts())
  }

  @Test func laneKeepsItsOrder() async throws {
    let scratch = ReplayScratch()
    let runner = try scratch.runner()
    let ids = try await scratch.enqueue(20, lane: "note")
    let summary = try await scratch.replayer.replayOnce()
    #expect(summary == ReplaySummary(succeeded: 20))
    #expect(runner.calls.elements.map(\.entry.id) == ids)
    #expect(runner.load.withLock { $0.most } == 1)
  }

  @Test func limitsHoldForAllAndForEachHost() async throws {
    let scratch = ReplayScratch()
    let gate = Gate()
    let runner = try scratch.runner { _ in
      try await gate.pass()
      return .success
    }
    for host in ["a", "b", "c"] { try await scratch.enqueue(5, host: host) }
    let once = Task { try await scratch.replayer.replayOnce() }
    await gate.arrival(4)
    for count in 5...10 {
      gate.letOneThrough()
      await gate.arrival(count)
    }
    gate.open()
    #expect(try await once.value == ReplaySummary(succeeded: 15))
    #expect(runner.load.withLock { $0.most } == 4)
    #expect(runner.load.withLock { $0.mostByHost.values.max() } == 2)
  }

  @Test func limitsBelowOneCountAsOne() async throws {
    let configuration = ReplayConfiguration(
      maximumConcurrency: 0, maximumPerHost: -1, pollInterval: .zero)
    let scratch = ReplayScratch(.connected, configuration)
    let runner = try scratch.runner()
    try await scratch.enqueue(3)
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(succeeded: 3))
    #expect(runner.load.withLock { $0.most } == 1)
    #expect(configuration.inBounds.pollInterval == .seconds(1))
  }

  @Test func twoRunsOfOneReplayerShareTheLimits() async throws {
    let scratch = ReplayScratch()
    let gate = Gate()
    let runner = try scratch.runner { _ in
      try await gate.pass()
      return .success
    }
    for host in ["a", "b", "c", "d"] { try await scratch.enqueue(4, host: host) }
    let second = Task { try await scratch.replayer.run() }
    let third = Task { try await scratch.replayer.run() }
    for count in 4...16 {
      await gate.arrival(count)
      gate.letOneThrough()
    }
    gate.open()
    await scratch.counts { $0.rows == OutboxCounts() }
    for run in [second, third] {
      run.cancel()
      await #expect(throws: CancellationError.self) { try await run.value }
    }
    #expect(runner.load.withLock { $0.most } == 4)
    #expect(runner.calls.count == 16)
  }

  @Test func cancelledRunGivesItsLeasesBack() async throws {
    let scratch = ReplayScratch()
    let gate = Gate()
    let runner = try scratch.runner { _ in
      try await gate.pass()
      return .success
    }
    try await scratch.enqueue(4, host: "a")
    try await scratch.enqueue(4, host: "b")
    try await scratch.whileRunning { await gate.arrival(4) }
    #expect(try scratch.outbox.counts.rows == OutboxCounts(pending: 8))
    #expect(runner.calls.count == 4)
    #expect(scratch.replayer.ledger.checkIdle())
    let entries = try scratch.outbox.entries()
    #expect(entries.allSatisfy { $0.failures == 0 && $0.waitReason == nil })
  }

  @Test func anotherRunMayFollowACancelledOne() async throws {
    let scratch = ReplayScratch()
    _ = try scratch.runner()
    try await scratch.whileRunning {}
    try await scratch.enqueue(3)
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(succeeded: 3))
  }

  @Test func rowsOfAnUnknownNameWaitUntilItIsRegistered() async throws {
    let scratch = ReplayScratch()
    _ = try scratch.runner("edit")
    try await scratch.enqueue(1, name: "delete")
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(waiting: 1))
    try await scratch.whileRunning {
      let late = try scratch.runner("delete")
      await late.calls.wait(forCount: 1)
      await scratch.counts { $0.rows == OutboxCounts() }
    }
  }

  @Test func nameOfAnotherTypeIsRefused() throws {
    let scratch = ReplayScratch()
    _ = try scratch.runner("edit")
    _ = try scratch.runner("edit")
    try scratch.replayer.register(
      ScriptedRunner("edit", instance: "2", outbox: scratch.outbox))
    let other = ScriptedRunner("edit", type: Int.self, outbox: scratch.outbox)
    let name = String(reflecting: ScriptedRunner.self)
    #expect(throws: ReplayError.nameTaken(name: "edit", typeName: name)) {
      try scratch.replayer.register(other)
    }
  }

  @Test func clientWithoutAStorageHasNothingToReplay() async throws {
    let replayer = MutationReplayer(client: QueryClient())
    await #expect(throws: StorageError.self) { try await replayer.run() }
    await #expect(throws: StorageError.self) { try await replayer.replayOnce() }
    await #expect(throws: StorageError.self) { try await replayer.credentialsChanged() }
  }

  @Test func newReplayerTriesTheHeadsThatWaitForCredentialsOnce() async throws {
    let scratch = ReplayScratch()
    let first = try scratch.runner { _ in .failure(.authentication, .waitForCredentials) }
    try await scratch.enqueue(3, lane: "a")
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(failed: 1, waiting: 2))
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(waiting: 3))
    #expect(first.calls.count == 1)

    let replayer = MutationReplayer(outbox: scratch.outbox)
    let second = ScriptedRunner(outbox: scratch.outbox) { _ in
      .failure(.authentication, .waitForCredentials)
    }
    try replayer.register(second)
    #expect(try await replayer.replayOnce() == ReplaySummary(failed: 1, waiting: 2))
    #expect(second.calls.count == 1)
  }

  @Test func changedCredentialsReleaseTheLanes() async throws {
    let scratch = ReplayScratch()
    let isKnown = Locked(false)
    let runner = try scratch.runner { _ in
      isKnown.withLock { $0 } ? .success : .failure(.authentication, .waitForCredentials)
    }
    try await scratch.enqueue(2, lane: "a")
    try await scratch.whileRunning {
      await runner.calls.wait(forCount: 1)
      await scratch.counts { $0.rows == OutboxCounts(pending: 2) }
      isKnown.withLock { $0 = true }
      try await scratch.replayer.credentialsChanged()
      await runner.calls.wait(forCount: 3)
      await scratch.counts { $0.rows == OutboxCounts() }
    }
  }
}
