/// A fetch that is scheduled, and runs when a caller awaits its value.
///
/// ```swift
/// let task = store.fetchTask()
/// let value = try await task.runIfNeeded()
/// ```
/// All copies of a task, and what ``map(_:)`` makes of it, are one run with one identity. A task
/// of a store makes that store loading from its creation on; a task that is dropped before it ran
/// ends, and so does one that is cancelled.
public struct QueryTask<Value: Sendable>: Sendable, Identifiable {
  /// The identity that all copies and maps share.
  public let id: QueryTaskIdentifier

  /// The values that the work runs with. An edit affects a run started through this copy, not one
  /// that is already running.
  public var context: QueryContext

  @usableFromInline let run: TaskRun
  // Without one, the run is a TypedTaskRun<Value>.
  @usableFromInline let projection: TaskProjection<Value>?
  @usableFromInline let holder: TaskHolder?

  /// Creates a task that belongs to no store.
  ///
  /// - Parameters:
  ///   - context: The values that the work runs with.
  ///   - work: Runs at most once. It gets the identity of the task, and the context with that
  ///     identity in it.
  @inlinable
  public init(
    context: QueryContext,
    work: @escaping @Sendable (QueryTaskIdentifier, QueryContext) async throws -> Value
  ) {
    self.init(context: context, run: TypedTaskRun(work: work), holder: nil)
  }

  /// A task that has ended already, in an earlier launch.
  init(context: QueryContext, finishedWith result: Result<Value, any Error>) {
    let run = TypedTaskRun<Value> { _, _ in try result.get() }
    run.state.withLock { state in _ = state.take(result: result) }
    self.init(context: context, run: run, holder: nil)
  }

  @inlinable
  init(context: QueryContext, run: TypedTaskRun<Value>, holder: TaskHolder?) {
    self.init(context: context, run: run, projection: nil, holder: holder)
  }

  @inlinable
  init(
    context: QueryContext,
    run: TaskRun,
    projection: TaskProjection<Value>?,
    holder: TaskHolder?
  ) {
    self.id = run.id
    self.context = context
    self.run = run
    self.projection = projection
    self.holder = holder
  }

  @inlinable
  var typedRun: TypedTaskRun<Value> { unsafeDowncast(self.run, to: TypedTaskRun<Value>.self) }

  /// This task, owned by its caller: if all copies of the result are released before it ran, it
  /// ends.
  @inlinable
  func held() -> QueryTask {
    QueryTask(
      context: self.context,
      run: self.run,
      projection: self.projection,
      holder: TaskHolder(run: self.run)
    )
  }

  /// What identifies the task to people.
  public var info: QueryTaskInfo {
    QueryTaskInfo(id: self.id, configuration: self.configuration)
  }

  /// The name, priority and executor of the task, stored in ``context``.
  public var configuration: QueryTaskConfiguration {
    get { QueryTaskConfiguration(context: self.context) }
    set { self.context = newValue.context(over: self.context) }
  }
}

// MARK: - Hashable

extension QueryTask: Hashable {
  public static func == (lhs: QueryTask, rhs: QueryTask) -> Bool { lhs.id == rhs.id }

  public func hash(into hasher: inout Hasher) { hasher.combine(self.id) }
}

// MARK: - Running

extension QueryTask {
  /// Runs the task unless it has already run, and returns its value.
  ///
  /// The first call starts the work, after the tasks that it is scheduled after; their errors are
  /// ignored. All other calls wait for that run, or return its result. Cancelling a Swift task that
  /// waits here cancels the run for all waiters.
  ///
  /// - Throws: What the work throws; `CancellationError` if the task was cancelled.
  @inlinable
  @discardableResult
  public func runIfNeeded() async throws -> Value {
    if let projection = self.projection {
      return try await projection.value(self.context, #isolation)
    }
    return try await self.typedRun.value(in: self.context, isolation: #isolation)
  }

  /// Cancels the task: a running one is cancelled, an un-run one never runs.
  @inlinable
  public func cancel() { self.run.cancel() }

  /// Whether the task ended with a `CancellationError`.
  public var isCancelled: Bool {
    if case .failure(let error)? = self.finishedResult { error is CancellationError } else { false }
  }

  /// Whether the task has a result. True as soon as it was cancelled.
  public var isFinished: Bool { self.finishedResult != nil }

  /// Whether the work is under way, and was not cancelled.
  public var isRunning: Bool { self.progress.isRunning }

  /// Whether the task was ever started.
  public var hasStarted: Bool { self.progress.hasStarted }

  /// What the task ended with.
  public var finishedResult: Result<Value, any Error>? {
    if let projection = self.projection { return projection.result() }
    return self.typedRun.state.withLock { $0.result }
  }

  private var progress: (isRunning: Bool, hasStarted: Bool) { self.run.progress }
}

// MARK: - Mapping

extension QueryTask {
  /// This task with its value transformed: the same run, under the same identity.
  ///
  /// - Parameter transform: Makes the new value, each time it is read. An error it throws becomes
  ///   the error of the mapped task.
  @inlinable
  public func map<T: Sendable>(
    _ transform: @escaping @Sendable (Value) throws -> T
  ) -> QueryTask<T> {
    // A copy without the holder: the mapped task holds that itself.
    let base = QueryTask(
      context: self.context,
      run: self.run,
      projection: self.projection,
      holder: nil
    )
    return QueryTask<T>(
      context: self.context,
      run: self.run,
      projection: TaskProjection(
        value: { context, isolation in
          try transform(try await base.value(in: context, isolation: isolation))
        },
        result: {
          base.finishedResult.map { result in Result { try transform(try result.get()) } }
        },
        start: { base.start(in: $0) }
      ),
      holder: self.holder
    )
  }

  @inlinable
  func value(in context: QueryContext, isolation: isolated (any Actor)?) async throws -> Value {
    if let projection = self.projection { return try await projection.value(context, isolation) }
    return try await self.typedRun.value(in: context, isolation: isolation)
  }

  /// Starts the task unless it was started, without waiting for it.
  @usableFromInline
  func start(in context: QueryContext) {
    if let projection = self.projection {
      projection.start(context)
    } else {
      self.typedRun.startIfNeeded(in: context)
    }
  }
}

/// How a mapped task reads the value of its run.
@usableFromInline
final class TaskProjection<Value: Sendable>: Sendable {
  @usableFromInline
  typealias ValueClosure =
    @Sendable (QueryContext, isolated (any Actor)?) async throws -> Value

  @usableFromInline let value: ValueClosure
  @usableFromInline let result: @Sendable () -> Result<Value, any Error>?
  @usableFromInline let start: @Sendable (QueryContext) -> Void

  @usableFromInline
  init(
    value: @escaping ValueClosure,
    result: @escaping @Sendable () -> Result<Value, any Error>?,
    start: @escaping @Sendable (QueryContext) -> Void
  ) {
    self.value = value
    self.result = result
    self.start = start
  }
}

// MARK: - Scheduling

extension QueryTask {
  /// Makes this task wait for another one to end, however it ends, before it runs.
  ///
  /// An edge that would make a task wait for itself is not added, and
  /// ``QueryWarning/queryTaskCircularScheduling(info:)`` is reported.
  ///
  /// - Parameter task: The task to wait for. This task starts it if no caller does.
  public func schedule<V>(after task: QueryTask<V>) {
    self.run.schedule(after: Dependency(task: task), info: self.info)
  }

  /// Makes this task wait for others to end, however they end, before it runs.
  ///
  /// - Parameter tasks: The tasks to wait for, at the same time.
  /// - Complexity: O(*n*²) in the number of tasks that this one waits for.
  public func schedule<V>(after tasks: some Sequence<QueryTask<V>>) {
    for task in tasks { self.schedule(after: task) }
  }
}

private struct Dependency<Value: Sendable>: TaskDependency {
  let task: QueryTask<Value>

  init(task: QueryTask<Value>) {
    // Without the holder: the run counts its dependants itself.
    self.task = QueryTask(
      context: task.context,
      run: task.run,
      projection: task.projection,
      holder: nil
    )
  }

  var dependencyRun: TaskRun { self.task.run }

  var info: QueryTaskInfo { self.task.info }

  func startIfNeeded() { self.task.start(in: self.task.context) }

  func waitUntilFinished() async { await self.task.run.waitUntilFinished() }
}
