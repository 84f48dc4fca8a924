/// The one run that all copies and maps of a ``QueryTask`` share, without the type of its value.
///
/// The holders of an un-run task are counted: the value that was returned to a caller (through a
/// ``TaskHolder``, since a struct cannot count its copies), and each task that is scheduled after
/// it. The copies that a state keeps do not count, so that a task that nobody will run ends.
// @unchecked: the variable is written under the mutex in which the subclass keeps its state.
@usableFromInline
class TaskRun: @unchecked Sendable {
  @usableFromInline final let id: QueryTaskIdentifier
  /// Whether it was ever to wait for another one.
  @exclusivity(unchecked) @usableFromInline final var hasHadDependencies = false

  @usableFromInline
  init() { self.id = .next() }

  @usableFromInline
  final func cancel() { self.takeCancellation()?() }

  // The subclass implements all of these.
  /// Cancels the run, of which neither its work nor those who wait know until the closure is called.
  ///
  /// Of runs that go together, all are taken before any is told of it: the end of one could let another begin
  /// that waits for it.
  ///
  /// - Returns: What tells them, outside the lock of the owner's store; nil if the run has ended.
  func takeCancellation() -> (@Sendable () -> Void)? { nil }
  @usableFromInline func releaseHolder() {}
  @usableFromInline var owner: (any TaskRunOwner)? { nil }
  func waitUntilFinished() async {}
  var progress: (isRunning: Bool, hasStarted: Bool) { (false, false) }
  func addDependant() {}
  /// Counts one task less that waits for this one.
  ///
  /// - Returns: What this one waited for, if it has ended so: the caller must release it.
  func removeDependant() -> [any TaskDependency] { [] }
  /// Takes what this one waits for. Called before it is freed.
  func takeDependencies() -> [any TaskDependency] { [] }
  var dependencies: [any TaskDependency] { [] }
  func addDependency(_ dependency: any TaskDependency, unlessDependedOn: Bool) -> AddedDependency {
    .refused
  }
}

/// What came of adding a dependency.
@usableFromInline
enum AddedDependency {
  /// It was added in place of another one; in place of itself if the task waits for nothing more.
  /// The caller must notify the other one, outside all locks.
  case added(replacing: (any TaskDependency)?)
  /// Nothing was added: others wait for the task.
  case refused
}

/// What a task waits for before it runs.
@usableFromInline
protocol TaskDependency: Sendable {
  var dependencyRun: TaskRun { get }
  var info: QueryTaskInfo { get }
  /// Starts the run unless it was started.
  func startIfNeeded()
  /// Returns when the run has ended, or at once if the waiting task is cancelled.
  func waitUntilFinished() async
}

/// The owner of a run: one fetch of a store.
@usableFromInline
protocol TaskRunOwner: FetchWork {
  /// The run ended without having run.
  ///
  /// - Parameter isDropped: Whether its last holder released it, rather than that it was cancelled.
  func didEndUnrun(isDropped: Bool)
  /// The fetch has waited before its work, however long: it shares what is under way from now on.
  func didWait(in context: QueryContext)
  /// The store is about to cancel the fetch, which no caller asked for.
  func willBeCancelledByStore()
  /// Takes what the answer includes; nil if it belongs to no store any more.
  func ownReceipt() -> FetchReceipt?
  /// Carries out an action when this thread is outside the store's lock: now, or later.
  func afterLock(_ action: @escaping @Sendable () -> Void)
}

/// Ends an un-run task when the last copy of the value that its caller got is gone.
@usableFromInline
final class TaskHolder: Sendable {
  private let run: TaskRun

  @usableFromInline
  init(run: TaskRun) { self.run = run }

  deinit { self.run.releaseHolder() }
}

// MARK: - Scheduling

/// Serialises the additions that could close a circle.
///
/// With a value, since the thread sanitizer confuses the address of an empty one with its
/// neighbour's.
private let graphLock = Locked(false)

extension TaskRun {
  /// Makes this run wait for another one, or reports the circle that this would close.
  ///
  /// A circle needs a task that others wait for already, so any other one is added without a
  /// search. Counting the dependant before looking at one's own makes this safe for two threads
  /// that each add one half of a circle: at least one of them searches.
  func schedule(after dependency: any TaskDependency, info: QueryTaskInfo) {
    let other = dependency.dependencyRun
    other.addDependant()
    if other !== self,
      case .added(let replaced) = self.addDependency(dependency, unlessDependedOn: true)
    {
      replaced?.dependencyRun.releaseDependant()
      return
    }
    let (circle, replaced) = graphLock.withLock { _ in
      self.addDependency(dependency, unlessCircularWith: info)
    }
    // Both after the lock, since a run that ends so tells the handlers of its store.
    replaced?.dependencyRun.releaseDependant()
    guard let circle else { return }
    other.releaseDependant()
    self.report(.queryTaskCircularScheduling(info: circle))
  }

  private func releaseDependant() {
    var dependencies = self.removeDependant()
    dependencies.releaseAll()
  }

  private func addDependency(
    _ dependency: any TaskDependency,
    unlessCircularWith info: QueryTaskInfo
  ) -> (circle: [QueryTaskInfo]?, replaced: (any TaskDependency)?) {
    if let path = Self.path(from: dependency, to: self) { return ([info] + path, nil) }
    switch self.addDependency(dependency, unlessDependedOn: false) {
    case .added(let replaced): return (nil, replaced)
    case .refused: return (nil, nil)
    }
  }

  /// Reports a warning, after the store's lock is released if a state's method asks for it.
  @usableFromInline
  func report(_ warning: QueryWarning) {
    if let owner = self.owner {
      owner.afterLock { warning.report() }
    } else {
      warning.report()
    }
  }

  private static func path(
    from dependency: any TaskDependency,
    to target: TaskRun
  ) -> [QueryTaskInfo]? {
    var visited = Set<QueryTaskIdentifier>()
    var stack: [(dependency: any TaskDependency, path: [QueryTaskInfo])] = [(dependency, [])]
    while let (current, path) = stack.popLast() {
      let extended = path + [current.info]
      if current.dependencyRun === target { return extended }
      guard visited.insert(current.dependencyRun.id).inserted else { continue }
      for next in current.dependencyRun.dependencies { stack.append((next, extended)) }
    }
    return nil
  }
}
