/// One fetch that several callers wait for.
@usableFromInline
final class SharedFetch<Value: Sendable>: Sendable {
  /// Guarded by the mutex.
  @usableFromInline
  struct State {
    @usableFromInline var waiters = [Int: CheckedContinuation<Value, any Error>]()
    /// The callers that joined and have not left, whether they already wait or not.
    @usableFromInline var members = Set<Int>()
    @usableFromInline var lastMember = 0
    @usableFromInline var task: BegunTask?
    @usableFromInline var result: Result<Value, any Error>?
    /// The destination of yields: the caller that came first, until it leaves.
    @usableFromInline var continuation: QueryContinuation<Value>?
    @usableFromInline var isAbandoned = false

    @inlinable
    init() {}

    @inlinable
    mutating func join() -> Int {
      self.lastMember += 1
      self.members.insert(self.lastMember)
      return self.lastMember
    }
  }

  /// The context of the caller that came first.
  @usableFromInline let context: QueryContext
  @usableFromInline let state: Locked<State>
  @inlinable static var firstMember: Int { 1 }

  /// Creates a fetch with its first member.
  @inlinable
  init(context: QueryContext, continuation: QueryContinuation<Value>) {
    self.context = context
    var state = State()
    state.continuation = continuation
    _ = state.join()
    self.state = Locked(state)
  }

  /// Counts one more caller, if the fetch still runs.
  @inlinable
  func join() -> Int? {
    self.state.withLock { state in
      state.result == nil && !state.isAbandoned ? state.join() : nil
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
        await self.perform(query, isolation: isolation, continuation, onEnd)
      }
      // It may have ended by now, and there is nothing to wait for.
      if let result = self.state.withLock({ $0.result }) { return try result.get() }
      return try await self.wait(for: Self.firstMember, isolation: isolation)
    } onCancel: {
      self.leave(Self.firstMember, onEnd)
    }
  }

  @inlinable
  func perform<Query: QueryRequest>(
    _ query: Query,
    isolation: isolated (any Actor)?,
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
      result = .success(try await query.fetch(in: self.context, with: continuation))
    } catch {
      result = .failure(error)
    }
    onEnd()
    let waiters = self.state.withLock { state in
      state.result = result
      state.task = nil
      defer { state.waiters = [:] }
      return state.waiters
    }
    for waiter in waiters.values { waiter.resume(with: result) }
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
  ///   - onLeave: Called when the last caller has left.
  @inlinable
  func value(for member: Int, onLeave: @escaping @Sendable () -> Void) async throws -> Value {
    try await withTaskCancellationHandler {
      try await self.wait(for: member, isolation: nil)
    } onCancel: {
      self.leave(member, onLeave)
    }
  }

  /// Waits for the result, or until the member has left.
  @inlinable
  func wait(for member: Int, isolation: isolated (any Actor)?) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let known = self.state.withLock { state -> Result<Value, any Error>? in
        if let result = state.result { return result }
        guard state.members.contains(member) else { return .failure(CancellationError()) }
        state.waiters[member] = continuation
        return nil
      }
      if let known { continuation.resume(with: known) }
    }
  }

  @inlinable
  func leave(_ member: Int, _ onLeave: @Sendable () -> Void) {
    let (waiter, abandoned) = self.state.withLock { state in
      guard state.result == nil, state.members.remove(member) != nil else {
        return (nil as CheckedContinuation<Value, any Error>?, nil as BegunTask??)
      }
      if member == Self.firstMember { state.continuation = nil }
      let waiter = state.waiters.removeValue(forKey: member)
      guard state.members.isEmpty else { return (waiter, nil) }
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
