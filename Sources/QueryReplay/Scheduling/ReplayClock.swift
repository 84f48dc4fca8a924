package import FoundationEssentials
import Query

/// A replayer's source of time and waits; a test supplies its own.
package struct ReplayClock: Sendable {
  /// The time that has passed since some moment, time of suspension included.
  package var now: @Sendable () -> Duration

  /// Waits until that time has passed.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  package var sleep: @Sendable (_ until: Duration) async throws -> Void

  /// The date of the outbox's clock.
  package var date: @Sendable () -> Date

  package init(
    now: @escaping @Sendable () -> Duration,
    date: @escaping @Sendable () -> Date = { Date() },
    sleep: @escaping @Sendable (_ until: Duration) async throws -> Void
  ) {
    self.now = now
    self.date = date
    self.sleep = sleep
  }

  /// A test's clock.
  init(_ clock: MockQueryClock) {
    self.init(
      now: { clock.elapsed }, date: { clock.now() }, sleep: { try await clock.sleep(until: $0) })
  }

  /// The continuous clock: a task that sleeps by it hangs on a timer of `CLOCK_BOOTTIME`, which is due
  /// at once after a suspend that outlasted it, so nothing else is needed to resume.
  package static let system = {
    let start = ContinuousClock.now
    return ReplayClock(
      now: { ContinuousClock.now - start },
      sleep: { try await Task.sleep(until: start + $0, clock: .continuous) }
    )
  }()
}
