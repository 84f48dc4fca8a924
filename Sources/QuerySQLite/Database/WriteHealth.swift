import Query

/// Whether a database can be written, and when to retry if it cannot. It reports when writing begins
/// to fail, and when it works again.
///
/// The writing thread changes it; any thread may read ``error``.
// @unchecked: `retry` and `hasFailed` are used by the writing thread alone.
final class WriteHealth: @unchecked Sendable {
  private let current = Locked<StorageError?>(nil)
  private let report: @Sendable (StorageEvent) -> Void
  private var retry: RetrySchedule
  /// Whether there is an error.
  private var hasFailed = false

  /// - Parameters:
  ///   - firstDelay: How long after the first failure the writer tries again.
  ///   - report: Reports an event, on the writing thread.
  init(firstDelay: Duration, report: @escaping @Sendable (StorageEvent) -> Void) {
    self.retry = RetrySchedule(firstDelay: firstDelay)
    self.report = report
  }

  /// Why nothing can be written; nil if it can.
  var error: StorageError? { self.current.withLock { $0 } }

  /// When to retry; nil if nothing has failed since the last success.
  var due: SuspendingClock.Instant? { self.retry.due }

  /// Whether something has failed, and nothing has succeeded since.
  var isRetryPending: Bool { self.retry.isPending }

  /// Records a failure, schedules the next try, and reports the first failure after a success.
  func didFail(_ error: StorageError) {
    self.retry.didFail()
    self.hasFailed = true
    // Before the event, so that a stream that begins now begins with the error.
    let isNew = self.current.withLock { current in
      defer { current = error }
      return current == nil
    }
    if isNew { self.report(.degraded(error)) }
  }

  /// Schedules the first try for now.
  func retryAtOnce() { self.retry.retryAtOnce() }

  /// Records a write that has succeeded, and reports the first one after a failure.
  func didSucceed() {
    self.retry.didSucceed()
    guard self.hasFailed else { return }
    self.hasFailed = false
    self.current.withLock { $0 = nil }
    self.report(.recovered)
  }
}
