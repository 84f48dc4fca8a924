import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplay

/// When a run looks at the outbox, and what it does about the network.
@Suite struct ReplayRunTests {
  @Test func anHourBehindAPortalCallsNobody() async throws {
    let scratch = ReplayScratch(.requiresConnection)
    let runner = try scratch.runner()
    try await scratch.enqueue(5)
    try await scratch.whileRunning {
      for minute in 0..<60 {
        await scratch.clock.sleeper(until: .seconds(minute * 60 + 30))
        scratch.clock.advance(by: .seconds(60))
      }
      await scratch.clock.sleeper(until: .seconds(3_630))
      #expect(runner.calls.count == 0)
      #expect(scratch.replayer.ledger.claims == 0)
      let entries = try scratch.outbox.entries()
      #expect(entries.allSatisfy { $0.attempts == 0 })
      scratch.network.send(status: .connected)
      await scratch.counts { $0.rows == OutboxCounts() }
    }
  }

  @Test func withoutANetworkEachHostIsTriedAtOnceAndThenAfterGrowingPauses() async throws {
    let scratch = ReplayScratch(.disconnected)
    let times = Recorder<Duration>()
    let runner = try scratch.runner { lease in
      if lease.entry.host == "here" { return .success }
      times.append(scratch.clock.now)
      return .failure(.connectivity, .wait(.offline, .seconds(30)))
    }
    try await scratch.enqueue(3, host: "gone")
    try await scratch.enqueue(3, host: "here")
    try await scratch.whileRunning {
      await scratch.counts { $0.rows == OutboxCounts(pending: 3) }
      for (count, pause) in [30, 60, 120, 240, 300, 300].enumerated() {
        await times.wait(forCount: count + 1)
        // The pause begins when the attempt's end is noted.
        await scratch.counts { $0.rows == OutboxCounts(pending: 3) }
        while !scratch.replayer.ledger.checkIdle() { await Task.yield() }
        for _ in 0..<(pause / 30) {
          await scratch.clock.sleeper(until: scratch.clock.now + .seconds(30))
          #expect(times.count == count + 1)
          scratch.clock.advance(by: .seconds(30))
        }
      }
      await times.wait(forCount: 7)
      // The host that answers is sent to as long as it does, one after another.
      #expect(runner.load.withLock { $0.mostByHost } == ["gone": 1, "here": 1])
      #expect(runner.calls.count == 10)
    }
  }

  @Test func probeThatHangsIsDueAgainAsSoonAsTheNetworkIsBack() async throws {
    let scratch = ReplayScratch(.disconnected)
    let gate = Gate()
    let runner = try scratch.runner { lease in
      if lease.entry.attempts == 1 { try await gate.pass() }
      return .success
    }
    try await scratch.enqueue(2, lane: "a")
    try await scratch.whileRunning {
      await gate.arrival()
      scratch.network.send(status: .connected)
      await runner.calls.wait(forCount: 2)
      gate.open()
      await scratch.counts { $0.rows == OutboxCounts() }
    }
    #expect(try scratch.outbox.entries().isEmpty)
  }

  @Test(arguments: [NetworkConnectionStatus.disconnected, .requiresConnection])
  func mutationToWhichTheNetworkDoesNotMatterIsSentAsEver(
    _ status: NetworkConnectionStatus
  ) async throws {
    let scratch = ReplayScratch(status)
    let gate = Gate()
    let runner = ScriptedRunner(
      "edit", isAttemptedWhileOffline: true, outbox: scratch.outbox
    ) { _ in
      try await gate.pass()
      return .success
    }
    try scratch.replayer.register(runner)
    let other = try scratch.runner("other") { _ in
      .failure(.connectivity, .wait(.offline, .seconds(1)))
    }
    try await scratch.enqueue(4, host: "a")
    try await scratch.enqueue(name: "other")
    try await scratch.whileRunning {
      await gate.arrival(2)
      gate.open()
      await scratch.counts { $0.pending + $0.leased == 1 }
    }
    #expect(runner.load.withLock { $0.most } == 2)
    #expect(other.calls.count == (status == .disconnected ? 1 : 0))
  }

  @Test func networkThatNeedsALoginIsNone() async throws {
    let scratch = ReplayScratch(.requiresConnection)
    let runner = try scratch.runner()
    try await scratch.enqueue()
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(waiting: 1))
    #expect(runner.calls.count == 0)
  }

  @Test func laneHeadThatWaitsCostsAConstantNumberOfLooks() async throws {
    let scratch = ReplayScratch()
    let isReady = Locked(false)
    let runner = try scratch.runner { _ in
      isReady.withLock { $0 }
        ? .success : .failure(.transient(retryAfter: nil), .wait(.backoff, .seconds(60)))
    }
    try await scratch.enqueue(101, lane: "a")
    try await scratch.whileRunning {
      await runner.calls.wait(forCount: 1)
      await scratch.clock.sleeper(until: .seconds(30))
      await scratch.counts { $0.rows == OutboxCounts(pending: 101) }
      isReady.withLock { $0 = true }
      scratch.clock.advance(by: .seconds(30))
      await scratch.clock.sleeper(until: .seconds(60))
      #expect(runner.calls.count == 1)
      #expect(scratch.replayer.ledger.turns <= 6)
      #expect(scratch.replayer.ledger.claims <= 6)
      scratch.clock.advance(by: .seconds(30))
      await scratch.counts { $0.rows == OutboxCounts() }
    }
    #expect(runner.calls.count == 102)
  }

  @Test func rowIsSentWhenItsTimeComesNotAtTheNextPoll() async throws {
    let scratch = ReplayScratch()
    let runner = try scratch.runner { lease in
      lease.entry.attempts > 1
        ? .success : .failure(.transient(retryAfter: nil), .wait(.backoff, .seconds(7)))
    }
    try await scratch.enqueue()
    try await scratch.whileRunning {
      await scratch.clock.sleeper(until: .seconds(7))
      scratch.clock.advance(by: .seconds(7))
      await runner.calls.wait(forCount: 2)
    }
  }

  @Test func eachHostGetsOneProbeWhenTheNetworkIsBack() async throws {
    let scratch = ReplayScratch(.requiresConnection)
    let (gateA, gateB) = (Gate(), Gate())
    let runner = try scratch.runner { lease in
      try await (lease.entry.host == "a" ? gateA : gateB).pass()
      return .success
    }
    for host in ["a", "b", "a", "b"] { try await scratch.enqueue(host: host) }
    try await scratch.whileRunning {
      await scratch.clock.sleeper(until: .seconds(30))
      scratch.network.send(status: .connected)
      await gateA.arrival()
      await gateB.arrival()
      #expect(runner.calls.count == 2)
      gateA.open()
      await gateA.arrival(2)
      await scratch.counts { $0.rows == OutboxCounts(pending: 1, leased: 1) }
      #expect(gateB.arrivals == 1)
      gateB.open()
      await scratch.counts { $0.rows == OutboxCounts() }
    }
    #expect(runner.load.withLock { $0.mostByHost } == ["a": 1, "b": 1])
  }

  @Test func probeThatFailsLeavesItsHostAtOne() async throws {
    let scratch = ReplayScratch(.requiresConnection)
    let gate = Gate()
    let isUp = Locked(false)
    let runner = try scratch.runner { _ in
      try await gate.pass()
      return isUp.withLock { $0 } ? .success : .failure(.connectivity, .wait(.backoff, .seconds(9)))
    }
    try await scratch.enqueue(4, host: "a")
    try await scratch.whileRunning {
      await scratch.clock.sleeper(until: .seconds(30))
      scratch.network.send(status: .connected)
      for probe in 1...3 {
        await gate.arrival(probe)
        gate.letOneThrough()
      }
      await gate.arrival(4)
      #expect(runner.load.withLock { $0.most } == 1)
      isUp.withLock { $0 = true }
      gate.letOneThrough()
      await scratch.counts { $0.rows == OutboxCounts(pending: 3) }
      await scratch.clock.sleeper(until: .seconds(9))
      scratch.clock.advance(by: .seconds(9))
      await gate.arrival(6)
      gate.open()
      await scratch.counts { $0.rows == OutboxCounts() }
    }
    #expect(runner.load.withLock { $0.most } == 2)
  }

  @Test func returnOfTheNetworkEndsTheWaitForIt() async throws {
    let scratch = ReplayScratch()
    let runner = try scratch.runner { lease in
      if lease.entry.attempts > 1 { return .success }
      scratch.network.send(status: .disconnected)
      return .failure(.connectivity, .wait(.offline, .seconds(300)))
    }
    try await scratch.enqueue()
    try await scratch.whileRunning {
      await runner.calls.wait(forCount: 1)
      await scratch.counts { $0.rows == OutboxCounts(pending: 1) }
      scratch.network.send(status: .connected)
      await runner.calls.wait(forCount: 2)
    }
  }

  @Test func manyAreSpreadOverTwoSecondsAfterTheProbe() async throws {
    let scratch = ReplayScratch(.requiresConnection)
    let runner = try scratch.runner()
    try await scratch.enqueue(11, host: "a")
    try await scratch.whileRunning {
      await scratch.clock.sleeper(until: .seconds(30))
      scratch.network.send(status: .connected)
      for count in 2...11 {
        await runner.calls.wait(forCount: count)
        #expect(runner.calls.count == count)
        if count == 11 { break }
        await scratch.clock.sleeper(until: .milliseconds(200 * (count - 1)))
        scratch.clock.advance(by: .milliseconds(200))
      }
    }
  }

  /// Twenty hang until they time out, with waits that are shorter than a round of them all.
  @Test func writesThatHangDoNotKeepANewOneFromBeingSent() async throws {
    let scratch = ReplayScratch()
    let (attempts, sentAt) = (Locked(0), Locked<Int?>(nil))
    _ = try scratch.runner { lease in
      let count = attempts.withLock { count in
        count += 1
        return count
      }
      if lease.entry.lane == "good" { sentAt.withLock { $0 = count } }
      scratch.clock.advance(by: .seconds(60))
      if lease.entry.lane == "good" || count > 200 { return .success }
      if count == 50 { try await scratch.enqueue(lane: "good") }
      return .failure(.transient(retryAfter: nil), .wait(.backoff, .seconds(20)))
    }
    try await scratch.enqueue(20)
    try await scratch.whileRunning { await scratch.counts { $0.pending + $0.leased == 0 } }
    #expect(try #require(sentAt.withLock { $0 }) <= 54)
  }

  @Test func failingStorageIsAskedAgain() async throws {
    let fault = Locked<StorageError?>(
      StorageError(operation: "claim", code: .inputOutput, message: "scripted"))
    let scratch = ReplayScratch(outbox: { ScriptedOutbox($0, fault: fault) })
    let runner = try scratch.runner()
    let events = scratch.replayer.events
    try await scratch.enqueue()
    try await scratch.whileRunning {
      await scratch.clock.sleeper(until: .milliseconds(100))
      scratch.clock.advance(by: .milliseconds(100))
      await scratch.clock.sleeper(until: .milliseconds(300))
      #expect(runner.calls.count == 0)
      fault.withLock { $0 = nil }
      scratch.clock.advance(by: .milliseconds(200))
      await runner.calls.wait(forCount: 1)
    }
    for await event in events {
      guard case .waiting(.storage(let error)) = event else { continue }
      #expect(error.text.contains("scripted"))
      break
    }
  }

  @Test func replayOnceTellsOfAFailingStorage() async throws {
    let error = StorageError(operation: "claim", code: .inputOutput, message: "scripted")
    let fault = Locked<StorageError?>(error)
    let scratch = ReplayScratch(outbox: { ScriptedOutbox($0, fault: fault) })
    _ = try scratch.runner()
    try await scratch.enqueue()
    await #expect(throws: error) { try await scratch.replayer.replayOnce() }
    #expect(scratch.replayer.ledger.checkIdle())
  }

  @Test func cancelledDuringAClaimGivesBackWhatItGot() async throws {
    let gate = Gate()
    let scratch = ReplayScratch(outbox: { ScriptedOutbox($0, gate: gate) })
    let runner = try scratch.runner()
    try await scratch.enqueue(2)
    try await scratch.whileRunning {
      await gate.arrival()
      Task { gate.open() }
    }
    let counts = try scratch.outbox.counts
    #expect(counts.leased == 0)
    #expect(runner.calls.count + counts.pending >= 2)
  }
}
