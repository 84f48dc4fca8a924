/// A Swift task, by its handle or as it knows itself.
@usableFromInline
protocol CancellableTask: Sendable {
  func cancel()
}

extension Task: CancellableTask {}

extension CancellableTask {
  /// Cancels the task on a thread of its own.
  ///
  /// `cancel()` runs the task's cancellation handlers on the caller's thread, and they may block: that of
  /// `URLSession.data(for:)` deadlocks with an answer that arrives meanwhile
  /// (swift-corelibs-foundation, issue 5412). A thread that serves others cannot afford that.
  func cancelElsewhere() {
    startThread("query-cancel") { self.cancel() }
  }
}
