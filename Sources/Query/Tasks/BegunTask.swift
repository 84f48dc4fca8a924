/// The Swift task of some work, as the work itself knows it.
///
/// Work that begins on its caller's thread runs before that has the handle of its task. It says at its
/// beginning which task it is, so that a cancellation reaches it there.
// @unchecked: only `cancel()` is called from other threads, which may call it.
@usableFromInline
struct BegunTask: CancellableTask, @unchecked Sendable {
  // Holds the task, as a handle does.
  @usableFromInline let task: UnsafeCurrentTask

  @inlinable
  init(_ task: UnsafeCurrentTask) { self.task = task }

  /// The task that runs here; nil outside of one.
  @inlinable
  static var current: BegunTask? { withUnsafeCurrentTask { $0.map { BegunTask($0) } } }

  @inlinable
  func cancel() { self.task.cancel() }
}
