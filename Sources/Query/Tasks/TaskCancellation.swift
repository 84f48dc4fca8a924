/// Cancels a task, and does not keep it: a task that has ended holds its value.
@usableFromInline
struct TaskCancellation: Sendable {
  private weak let run: TaskRun?

  init<Value>(_ task: QueryTask<Value>) { self.run = task.run }

  /// Cancels a fetch that no caller asked for: what it fails with is no error of the query.
  func cancelByStore() { self.takeByStore()?() }

  /// Cancels a fetch that no caller asked for, as ``TaskRun/takeCancellation()`` does.
  func takeByStore() -> (@Sendable () -> Void)? {
    self.run?.owner?.willBeCancelledByStore()
    return self.run?.takeCancellation()
  }
}
