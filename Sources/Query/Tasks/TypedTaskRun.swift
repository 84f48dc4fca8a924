/// The run of a ``QueryTask``, with the type of the value that its work returns.
// @unchecked: the class above declares it so; what changes here is in the mutex.
@usableFromInline
final class TypedTaskRun<Value: Sendable>: TaskRun, @unchecked Sendable {
  @usableFromInline
  typealias Work = @Sendable (QueryTaskIdentifier, QueryContext) async throws -> Value
  @usableFromInline
  typealias Outcome = Result<Value, any Error>

  @usableFromInline
  enum Phase: Sendable {
    case unstarted
    case running
    case finished
  }

  /// Guarded by the mutex.
  ///
  /// - unstarted: `work` is there.
  /// - running: `task` is there as soon as the Swift task has begun. A cancelled run has its result
  ///   already, while the work goes on until it notices.
  /// - finished: the result is there, and everything else was released.
  @usableFromInline
  struct State: Sendable {
    @usableFromInline var phase = Phase.unstarted
    @usableFromInline var hasStarted = false
    @usableFromInline var work: Work?
    @usableFromInline var owner: (any TaskRunOwner)?
    @usableFromInline var task: BegunTask?
    @usableFromInline var result: Outcome?
    @usableFromInline var dependencies = [any TaskDependency]()
    @usableFromInline var isHeld = true
    @usableFromInline var dependantCount = 0
    @usableFromInline var waiters = [Int: CheckedContinuation<Outcome?, Never>]()
    @usableFromInline var lastWaiter = 0

    @inlinable
    init(work: Work?, owner: (any TaskRunOwner)? = nil) {
      self.work = work
      self.owner = owner
    }
  }

  @usableFromInline let state: Locked<State>

  @inlinable
  init(owner: (any TaskRunOwner)? = nil, work: @escaping Work) {
    self.state = Locked(State(work: work, owner: owner))
    super.init()
  }

  // A run whose last holder released it, and that never ran, is still counted by its dependencies.
  @inlinable
  deinit {
    // Most wait for nothing: the lock costs more than all else here.
    guard self.hasHadDependencies else { return }
    var dependencies = self.state.withLock { $0.takeDependencies() }
    dependencies.releaseAll()
  }

  override func takeCancellation() -> (@Sendable () -> Void)? { self.takeOwnCancellation() }

  @usableFromInline
  override func releaseHolder() {
    var dependencies = self.endIfDropped { $0.isHeld = false }
    dependencies.releaseAll()
  }

  override func addDependant() { self.state.withLock { $0.dependantCount += 1 } }

  override func removeDependant() -> [any TaskDependency] {
    self.endIfDropped { $0.dependantCount -= 1 }
  }

  override func takeDependencies() -> [any TaskDependency] {
    self.state.withLock { $0.takeDependencies() }
  }

  override func addDependency(
    _ dependency: any TaskDependency,
    unlessDependedOn: Bool
  ) -> AddedDependency {
    self.add(dependency, unlessDependedOn: unlessDependedOn)
  }

  override func waitUntilFinished() async {
    _ = await self.outcome(leavesWhenCancelled: true)
  }

  override var dependencies: [any TaskDependency] { self.state.withLock { $0.dependencies } }

  override var owner: (any TaskRunOwner)? { self.state.withLock { $0.owner } }

  override var progress: (isRunning: Bool, hasStarted: Bool) {
    self.state.withLock { ($0.phase == .running && $0.result == nil, $0.hasStarted) }
  }
}

// MARK: - Running

extension TypedTaskRun {
  @usableFromInline
  enum Entry {
    case start(fetch: (any TaskRunOwner)?)
    case wait
    case done(Outcome)
  }

  /// Starts the run, or waits for it, or returns its result.
  ///
  /// A run that is started begins on the caller's thread, and stays on its actor as far as the work does:
  /// a user interface fetches from the main actor, to which another thread takes long to come back.
  @inlinable
  func value(in context: QueryContext, isolation: isolated (any Actor)?) async throws -> Value {
    let waiter = FetchGraph.enclosing.get()
    // A fetch inside of another one, which waits for it.
    let target = waiter == nil ? nil : self.state.withLock { $0.owner }
    if let waiter, let target,
      let circle = FetchGraph.beginWait(of: waiter, for: target, isCall: true)
    {
      try FetchGraph.separate(waiter, from: circle)
      throw QueryCircularFetchError(paths: circle.compactMap(\.queryPath))
    }
    defer { if let waiter, let target { FetchGraph.endWait(of: waiter, for: target) } }
    switch self.enter() {
    case .start(let fetch):
      // Launched inside, so that no cancellation that comes before the work returns is missed.
      return try await withTaskCancellationHandler {
        try await self.launch(
          in: context,
          isCancelled: Task.isCancelled,
          // A chain of work that runs work would overflow the stack. A task of no store does not know whether
          // its caller is work, and begins here on an actor alone. What will wait for another fetch gains
          // nothing, and the runtime makes a task dearer that begins here.
          beginsHere: waiter == nil && (fetch.map { !$0.isBesideAnother } ?? (isolation != nil)),
          isolation: isolation
        )
        .value
      } onCancel: {
        self.cancel()
      }
    case .wait:
      let outcome = await self.outcome(leavesWhenCancelled: false)
      return try (outcome ?? .failure(CancellationError())).get()
    case .done(let outcome):
      return try outcome.get()
    }
  }

  @inlinable
  func startIfNeeded(in context: QueryContext) {
    guard case .start = self.enter() else { return }
    // The task in which this happens is not a caller, so its cancellation does not affect the run.
    _ = self.launch(in: context, isCancelled: false, beginsHere: false, isolation: nil)
  }

  @inlinable
  func enter() -> Entry {
    self.state.withLock { state in
      if let result = state.result { return .done(result) }
      guard state.phase == .unstarted else { return .wait }
      state.phase = .running
      state.hasStarted = true
      return .start(fetch: state.owner)
    }
  }

  @inlinable
  func launch(
    in context: QueryContext,
    isCancelled: Bool,
    beginsHere: Bool,
    isolation: isolated (any Actor)?
  ) -> Task<Value, any Error> {
    // A task cannot be made cancelled, so it cancels itself before it does anything.
    Self.task(in: context, beginsHere: beginsHere, on: isolation) {
      // Named, so that the task has its isolation.
      _ = isolation
      return try await self.execute(in: context, isCancelled: isCancelled, isolation: isolation)
    }
  }

  /// Makes the task of some work.
  ///
  /// - Parameters:
  ///   - context: Its name, priority and executor.
  ///   - beginsHere: Whether it begins on this thread, as that of a caller who waits for it: to wake another
  ///     one takes longer than most work runs before it waits for a server. A preferred executor goes first.
  ///   - isolation: The actor that the work is on.
  ///   - operation: The work.
  @inlinable
  static func task(
    in context: QueryContext,
    beginsHere: Bool,
    on isolation: isolated (any Actor)?,
    @_inheritActorContext operation: sending @escaping @isolated(any) () async throws -> Value
  ) -> Task<Value, any Error> {
    let name = context.taskName
    let priority = context[QueryContext.TaskPriorityKey.self]
    if let executor = context[QueryContext.TaskExecutorPreferenceKey.self] {
      return Task(
        name: name,
        executorPreference: executor,
        priority: priority,
        operation: operation
      )
    }
    if beginsHere {
      return Task.immediate(name: name, priority: priority, operation: operation)
    }
    return Task(name: name, priority: priority, operation: operation)
  }

  @inlinable
  func execute(
    in context: QueryContext,
    isCancelled: Bool,
    isolation: isolated (any Actor)?
  ) async throws -> Value {
    let (work, owner, dependencies, wasCancelled) = self.state.withLock { state in
      state.task = BegunTask.current
      return (state.work, state.owner, state.dependencies, state.result != nil)
    }
    if isCancelled || wasCancelled { BegunTask.current?.cancel() }
    if !dependencies.isEmpty {
      if !Task.isCancelled { await Self.wait(for: dependencies, by: owner) }
      // The run may be cancelled already when its Swift task is not yet.
      if Task.isCancelled || self.hasResult { return try self.endWhileWaiting() }
      owner?.didWait(in: context)
    }
    guard let work else { throw CancellationError() }
    var context = context
    context[QueryContext.RunningTaskKey.self] = RunningTask(id: self.id, owner: owner)
    var outcome: Outcome
    do {
      outcome = .success(
        try await FetchGraph.enclosing.withValue(
          owner,
          operation: {
            // Named, so that the work has its isolation.
            _ = isolation
            return try await work(self.id, context)
          },
          isolation: isolation
        )
      )
      if Task.isCancelled { outcome = .failure(CancellationError()) }
    } catch {
      outcome = .failure(error)
    }
    return try self.finish(with: outcome).get()
  }

  @usableFromInline
  static func wait(
    for dependencies: [any TaskDependency],
    by owner: (any TaskRunOwner)?
  ) async {
    // All run from here on, so waiting for one after another waits for all at once.
    for dependency in dependencies { dependency.startIfNeeded() }
    for dependency in dependencies {
      if let owner, let target = dependency.dependencyRun.owner {
        _ = await FetchGraph.wait(of: owner, for: target) { await dependency.waitUntilFinished() }
      } else {
        await dependency.waitUntilFinished()
      }
    }
  }

  @usableFromInline
  func endWhileWaiting() throws -> Value {
    let owner = self.state.withLock { $0.owner }
    owner?.didEndUnrun(isDropped: false)
    self.finish(with: .failure(CancellationError()))
    throw CancellationError()
  }
}

// MARK: - Ending

extension TypedTaskRun {
  /// - Returns: What its callers get: of a cancelled run never a value, even if the cancellation came after
  ///   the work had returned.
  @inlinable
  @discardableResult
  func finish(with outcome: Outcome) -> Outcome {
    // Released after the lock, since a user's deinitialiser may run then.
    var (ended, end) = self.state.withLock { state -> (State, Outcome) in
      var end = outcome
      if case .success = outcome, let result = state.result { end = result }
      return (state.take(result: state.result ?? outcome), end)
    }
    ended.release(with: end)
    return end
  }

  @usableFromInline
  var hasResult: Bool { self.state.withLock { $0.result != nil } }

  private func takeOwnCancellation() -> (@Sendable () -> Void)? {
    let cancelled = Outcome.failure(CancellationError())
    let (owner, tell) = self.state.withLock {
      state -> ((any TaskRunOwner)?, (@Sendable () -> Void)?) in
      guard state.result == nil else { return (nil, nil) }
      let owner = state.owner
      guard state.phase == .unstarted else {
        state.result = cancelled
        let task = state.task
        return (owner, { task?.cancel() })
      }
      let ended = state.take(result: cancelled)
      return (
        owner,
        {
          owner?.didEndUnrun(isDropped: false)
          var ended = ended
          ended.release(with: cancelled)
        }
      )
    }
    guard let owner, let tell else { return tell }
    return { owner.afterLock(tell) }
  }

  /// Ends the run if nobody is left who could start it.
  ///
  /// - Returns: What it waited for, to be released.
  private func endIfDropped(
    after change: @Sendable (inout State) -> Void
  ) -> [any TaskDependency] {
    let ended = self.state.withLock { state -> State? in
      change(&state)
      guard state.phase == .unstarted, !state.isHeld, state.dependantCount == 0 else { return nil }
      return state.take(result: .failure(CancellationError()))
    }
    guard var ended else { return [] }
    ended.owner?.didEndUnrun(isDropped: true)
    let dependencies = ended.takeDependencies()
    ended.release(with: .failure(CancellationError()))
    return dependencies
  }
}

extension TypedTaskRun.State {
  /// Leaves a finished state behind and returns its former content.
  @inlinable
  mutating func take(result: Result<Value, any Error>) -> Self {
    let ended = self
    self = Self(work: nil)
    self.phase = .finished
    self.hasStarted = ended.hasStarted
    self.dependantCount = ended.dependantCount
    self.result = result
    return ended
  }

  @inlinable
  mutating func takeDependencies() -> [any TaskDependency] {
    if self.dependencies.isEmpty { return [] }
    defer { self.dependencies = [] }
    return self.dependencies
  }

  /// Resumes the waiters, and releases the tasks that were waited for.
  @inlinable
  mutating func release(with outcome: Result<Value, any Error>) {
    self.dependencies.releaseAll()
    for waiter in self.waiters.values { waiter.resume(returning: outcome) }
  }
}

extension [any TaskDependency] {
  /// Tells all of them that one task less waits for them, and lets go of them.
  @inlinable
  mutating func releaseAll() {
    if !self.isEmpty { self.releaseEach() }
  }

  /// Those that end so, or are freed, release what they waited for themselves in this loop: inside one
  /// another, the calls of a long chain would overflow the stack.
  @usableFromInline
  mutating func releaseEach() {
    self.reverse()
    // The dependency itself is gone by then, so that nothing but `run` holds what is about to be freed.
    while var run = self.popLast()?.dependencyRun {
      self += run.removeDependant().reversed()
      if isKnownUniquelyReferenced(&run) { self += run.takeDependencies().reversed() }
    }
  }
}

// MARK: - Waiting

extension TypedTaskRun {
  /// What the run ends with.
  ///
  /// - Parameter leavesWhenCancelled: Whether cancelling the task that waits ends the wait, with
  ///   `nil`. Otherwise it cancels the run.
  @usableFromInline
  func outcome(leavesWhenCancelled: Bool) async -> Outcome? {
    let waiter = self.state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let known = self.state.withLock { state -> Outcome?? in
          if state.phase == .finished { return .some(state.result) }
          if leavesWhenCancelled && Task.isCancelled { return .some(nil) }
          state.waiters[waiter] = continuation
          return nil
        }
        if let known { continuation.resume(returning: known) }
      }
    } onCancel: {
      if leavesWhenCancelled {
        self.state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume(returning: nil)
      } else {
        self.cancel()
      }
    }
  }
}

// MARK: - Dependencies

extension TypedTaskRun {
  private func add(
    _ dependency: any TaskDependency,
    unlessDependedOn: Bool
  ) -> AddedDependency {
    self.state.withLock { state in
      if unlessDependedOn && state.dependantCount > 0 { return .refused }
      // A started task waits for nothing more, and must not keep others from being dropped.
      guard state.phase == .unstarted else { return .added(replacing: dependency) }
      let identifier = dependency.dependencyRun.id
      let index = state.dependencies.firstIndex { $0.dependencyRun.id == identifier }
      let replaced = index.map { state.dependencies.remove(at: $0) }
      state.dependencies.append(dependency)
      self.hasHadDependencies = true
      return .added(replacing: replaced)
    }
  }
}
