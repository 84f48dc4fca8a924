import Query

/// Whether a database can be written: what to report when it no longer can, or can again, and when to
/// retry in between.
///
/// The writing thread changes it; any thread may read ``error``.
// @unchecked: `retry` and `hasFailed` are used by the writing thread alone.
final class WriteHealth: @unchecked Sendable {
  private let current = Locked<StorageError?>(nil)
  private var retry: RetrySchedule
  /// Whether there is an error.
  private var hasFailed = false

  init(firstDelay: Duration) { self.retry = RetrySchedule(firstDelay: firstDelay) }

  /// Why nothing can be written; nil if it can.
  var error: StorageError? { self.current.withLock { $0 } }

  /// When to retry; nil if nothing has failed since the last success.
  var due: SuspendingClock.Instant? { self.retry.due }

  /// Whether something has failed, and nothing has succeeded since.
  var isRetryPending: Bool { self.retry.isPending }

  /// Records a failure, and schedules the next try.
  ///
  /// - Returns: The event to report; nil if a failure has been reported already.
  func didFail(_ error: StorageError) -> StorageEvent? {
    self.retry.didFail()
    self.hasFailed = true
    // Before the event, so that a stream that begins now begins with the error.
    let isNew = self.current.withLock { current in
      defer { current = error }
      return current == nil
    }
    return isNew ? .degraded(error) : nil
  }

  /// Schedules the first try for now.
  func retryAtOnce() { self.retry.retryAtOnce() }

  /// Records a write that has succeeded.
  ///
  /// - Returns: The event to report; nil if no failure was reported.
  func didSucceed() -> StorageEvent? {
    self.retry.didSucceed()
    guard self.hasFailed else { return nil }
    self.hasFailed = false
    self.current.withLock { $0 = nil }
    return .recovered
  }
}
