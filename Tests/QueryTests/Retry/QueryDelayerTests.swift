import Foundation
import Query
import Synchronization
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryDelayerTests {
  // MARK: - Waiting

  @Test func taskSleepWaitsAtLeastSoLong() async throws {
    let start = ContinuousClock.now
    try await TaskSleepDelayer.taskSleep.delay(for: 0.02)
    #expect(ContinuousClock.now - start >= .seconds(0.02))
  }

  @Test func aClockDelayerSleepsByItsClock() async throws {
    let clock = InstantClock()
    let delayer: any QueryDelayer = .clock(clock)
    try await delayer.delay(for: 2.5)
    try await delayer.delay(for: 0)
    #expect(clock.slept.elements == [.seconds(2.5), .zero])
  }

  @Test(arguments: [1e20, 1e25, 1e300, TimeInterval.infinity])
  func aWaitLongerThanAClockCanCountEndsByCancellation(seconds: TimeInterval) async {
    for delayer: any QueryDelayer in [.taskSleep, .clock(ContinuousClock())] {
      let wait = Task { try await delayer.delay(for: seconds) }
      wait.cancel()
      await #expect(throws: CancellationError.self) { try await wait.value }
    }
  }

  @Test(arguments: [-1, -.infinity, .nan] as [TimeInterval])
  func whatIsNoWaitIsTakenAsNone(seconds: TimeInterval) async throws {
    let clock = InstantClock()
    try await ClockDelayer.clock(clock).delay(for: seconds)
    #expect(clock.slept.elements == [.zero])
    try await TaskSleepDelayer.taskSleep.delay(for: seconds)
    try await NoDelayer.noDelay.delay(for: seconds)
  }

  @Test func noDelayDoesNotWait() async throws {
    try await NoDelayer.noDelay.delay(for: .greatestFiniteMagnitude)
  }

  // MARK: - Cancellation

  @Test func everyDelayerSeesTheCancellation() async {
    for delayer: any QueryDelayer in [
      .noDelay, .taskSleep, .clock(ContinuousClock()), AnyDelayer(.noDelay),
    ] {
      let wait = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await delayer.delay(for: 3_600)
      }
      await #expect(throws: CancellationError.self) { try await wait.value }
    }
  }

  // MARK: - Any

  @Test func anyDelayerHandsOnToItsBase() async throws {
    let base = RecordingDelayer()
    let delayer = AnyDelayer(base)
    try await delayer.delay(for: 7)
    #expect(base.delays == [7])
    #expect(delayer.base as? RecordingDelayer === base)
  }

  // MARK: - Context

  @Test func theContextsDefaultIsTheContinuousClock() {
    #expect(QueryContext().queryDelayer is ClockDelayer<ContinuousClock>)
  }

  @Test func theModifierSetsTheContextsDelayer() {
    let delayer = RecordingDelayer()
    let query = ProbeQuery().delayer(delayer).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.queryDelayer as? RecordingDelayer === delayer)
  }
}

/// A clock on which every sleep ends at once.
private struct InstantClock: Clock {
  let slept = Recorder<Duration>()

  typealias Instant = ContinuousClock.Instant

  let now = ContinuousClock.now
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    self.slept.append(self.now.duration(to: deadline))
  }
}
