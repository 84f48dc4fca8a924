/// One fetch that several callers wait for.
@usableFromInline
final class SharedFetch<Value: Sendable>: Sendable {
  // Unsafe, since a checked one allocates. The thread that removes it from the state resumes it, once.
  @usableFromInline typealias Waiter = UnsafeContinuation<Value, any Error>

  /// Guarded by the mutex.
  @usableFromInline
  struct State {
    @usableFromInline var waiters = [Int: Waiter]()
    /// How many callers have joined and not left, whether they already wait or not.
    @usableFromInline var memberCount = 0
    @usableFromInline var lastMember = 0
    /// The callers that have left before they waited.
    @usableFromInline var leftEarly = Set<Int>()
    @usableFromInline var task: BegunTask?
    /// Once it is there, nobody leaves.
    @usableFromInline var result: Result<Value, any Error>?
    /// Whether the table knows that it has ended. Its callers have the result then, and nobody joins.
    @usableFromInline var isTold = false
    /// The destination of yields: the caller that came first, until it leaves.
    @usableFromInline var continuation: QueryContinuation<Value>?
    @usableFromInline var isAbandoned = false

    @inlinable
    init() {}

    @inlinable
    mutating func join() -> Int {
      self.lastMember += 1
      self.memberCount += 1
      return self.lastMember
    }

    /// The result, once the callers may have it.
    @inlinable
    var toldResult: Result<Value, any Error>? { self.isTold ? self.result : nil }

    /// What a caller gets without waiting: one that has left gets nothing of the result.
    @inlinable
    mutating func known(for member: Int) -> Result<Value, any Error>? {
      if !self.leftEarly.isEmpty, self.leftEarly.remove(member) != nil {
        return .failure(CancellationError())
      }
      return self.toldResult
    }

    /// Whether somebody else waits than the caller that came first.
    @usableFromInline var hasOthers: Bool { self.memberCount > 1 || self.continuation == nil }
  }

  /// The context of the caller that came first.
  @usableFromInline let context: QueryContext
  /// The fetch of that caller; nil outside a store.
  @usableFromInline let work: (any TaskRunOwner)?
  @usableFromInline let state: Locked<State>
  /// Whether the attempt of the caller that came first was not given up; nil: it cannot be.
  @usableFromInline let isOpen: (@Sendable () -> Bool)?
  @inlinable static var firstMember: Int { 1 }

  /// Creates a fetch with its first member.
  @inlinable
  init(context: QueryContext, continuation: QueryContinuation<Value>) {
    self.context = context
    self.work = context.fetchWork
    self.isOpen = FetchAttempt.isOpen(of: context.fetchWork)
    var state = State()
    state.continuation = continuation
    _ = state.join()
    self.state = Locked(state)
  }

  /// The result, if it has one that others may share: an abandoned one was cancelled.
  @inlinable
  var sharedResult: Result<Value, any Error>? {
    self.state.withLock { $0.isAbandoned ? nil : $0.toldResult }
  }

  /// Whether a fetch may not join: the attempt that this one belongs to was given up, and nobody else waits for
  /// it, or that attempt was the fetch's own. What nobody waits for is abandoned by that: its first caller may
  /// leave a moment later.
  @usableFromInline
  func refuses(_ other: FetchWork?) -> Bool {
    guard let isOpen, !isOpen() else { return false }
    return self.state.withLock { state in
      if state.isTold || state.hasOthers { return other != nil && other === self.work }
      state.isAbandoned = true
      return true
    }
  }

  /// Whether its work still counts.
  @usableFromInline var counts: Bool {
    let isGivenUp = self.isOpen?() == false
    return self.state.withLock { !$0.isAbandoned && (!isGivenUp || $0.hasOthers) }
  }

  /// Counts one more caller, if the fetch still runs.
  @inlinable
  func join() -> Int? {
    self.state.withLock { state in
      state.isTold || state.isAbandoned ? nil : state.join()
    }
  }
}

// MARK: - Running

extension SharedFetch {
  /// Fetches in a task of its own, which begins on the thread of the first caller, and waits for the result.
  @inlinable
  func run<Query: QueryRequest>(
    _ query: Query,
    isolation: isolated (any Actor)?,
    onEnd: @escaping @Sendable () -> Void
  ) async throws -> Value where Query.Value == Value {
    let recorder = self.state.withLock { $0.continuation?.recorder }
    let continuation = QueryContinuation<Value>(noting: recorder) { result, context in
      self.yield(result, in: context)
    }
    return try await withTaskCancellationHandler {
      // Under the name of the first caller's task, and on its preferred executor.
      _ = TypedTaskRun<Void>.task(in: self.context, beginsHere: true, on: isolation) {
        // Named, so that the task has its isolation.
        _ = isolation
        await self.perform(query, continuation, onEnd)
      }
      // It may have ended by now, and there is nothing to wait for.
      let known = self.state.withLock { $0.known(for: Self.firstMember) }
      if let known { return try known.get() }
      return try await withUnsafeThrowingContinuation(isolation: isolation) {
        self.add($0, as: Self.firstMember)
      }
    } onCancel: {
      self.leave(Self.firstMember, onEnd)
    }
  }

  @inlinable
  func perform<Query: QueryRequest>(
    _ query: Query,
    _ continuation: QueryContinuation<Value>,
    _ onEnd: @Sendable () -> Void
  ) async where Query.Value == Value {
    let task = BegunTask.current
    let isAbandoned = self.state.withLock { state in
      state.task = task
      return state.isAbandoned
    }
    if isAbandoned { task?.cancel() }
    let result: Result<Value, any Error>
    do {
      result = .success(try await self.fetch(query, continuation))
    } catch {
      result = .failure(error)
    }
    // No caller leaves any more: what the table keeps is not abandoned behind its back.
    self.state.withLock { state in
      state.result = result
      state.task = nil
    }
    onEnd()
    let waiters = self.state.withLock { state in
      state.isTold = true
      defer { state.waiters = [:] }
      return state.waiters
    }
    // In the order in which they came: a task group looks for a child that has ended from its first one on.
    for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter.resume(with: result) }
  }
}

// MARK: - Attempts

extension SharedFetch {
  /// Fetches. If the first caller's attempt can be given up, its work counts while anybody else waits.
  @inlinable
  func fetch<Query: QueryRequest>(
    _ query: Query,
    _ continuation: QueryContinuation<Value>
  ) async throws -> Value where Query.Value == Value {
    guard self.isOpen != nil, let work = self.context.fetchWork else {
      return try await query.fetch(in: self.context, with: continuation)
    }
    return try await FetchAttempt(of: work) { self.counts }
      .fetch(query, in: self.context, with: continuation, isolation: #isolation)
  }
}

// MARK: - Yielding

extension SharedFetch {
  @inlinable
  func yield(_ result: Result<Value, any Error>, in context: QueryContext?) {
    let (continuation, isOver) = self.state.withLock { ($0.continuation, $0.result != nil) }
    // The first caller has left, and no other caller takes yields.
    guard let continuation else { return }
    if isOver {
      QueryWarning.queryYieldedAfterReturning(result).report()
    } else {
      continuation.yield(with: result, using: context)
    }
  }
}

// MARK: - Waiting

extension SharedFetch {
  /// Waits for the result. A caller that is cancelled leaves alone.
  ///
  /// - Parameters:
  ///   - member: The caller, as counted by ``join()``.
  ///   - isolation: The actor that the caller is on, to which it comes back without another thread.
  ///   - onLeave: Called when the last caller has left.
  @inlinable
  func value(
    for member: Int,
    isolation: isolated (any Actor)?,
    onLeave: @escaping @Sendable () -> Void
  ) async throws -> Value {
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation(isolation: isolation) { self.add($0, as: member) }
    } onCancel: {
      self.leave(member, onLeave)
    }
  }

  /// Lets a member wait for the result, if it is still to come, or until the member leaves.
  @inlinable
  func add(_ waiter: Waiter, as member: Int) {
    let known = self.state.withLock { state -> Result<Value, any Error>? in
      if let known = state.known(for: member) { return known }
      state.waiters[member] = waiter
      return nil
    }
    if let known { waiter.resume(with: known) }
  }

  @inlinable
  func leave(_ member: Int, _ onLeave: @Sendable () -> Void) {
    let (waiter, abandoned) = self.state.withLock { state -> (Waiter?, BegunTask??) in
      guard state.result == nil else { return (nil, nil) }
      let waiter = state.waiters.removeValue(forKey: member)
      if waiter == nil { state.leftEarly.insert(member) }
      state.memberCount -= 1
      if member == Self.firstMember { state.continuation = nil }
      guard state.memberCount == 0 else { return (waiter, nil) }
      state.isAbandoned = true
      return (waiter, .some(state.task))
    }
    if let abandoned {
      // No caller may join a fetch that was cancelled.
      onLeave()
      abandoned?.cancel()
    }
    waiter?.resume(throwing: CancellationError())
  }
}
