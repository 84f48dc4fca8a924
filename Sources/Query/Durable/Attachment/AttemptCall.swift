/// One call of a mutation's handler. The attempt waits for it, but abandons a call that goes on after it
/// was cancelled.
// @unchecked: the result is written before the call ends, and read after that.
final class AttemptCall<Value: Sendable>: @unchecked Sendable {
  typealias Reason = AttemptCancellation

  /// How the wait for a call ends.
  enum Ending: Sendable {
    /// The call has ended. It may have been cancelled before, for this reason.
    case ended(Result<Value, any Error>, cancelled: Reason?)
    /// It was cancelled for this reason, and still goes on: its result is ignored.
    case leftBehind(Reason)
  }

  private let ending = FirstResult<AttemptEnd>()
  private let guarded = Locked(GuardedCall())
  private let grace: Duration
  private let sleep: @Sendable (Duration) async throws -> Void
  private var result: Result<Value, any Error>?

  /// - Parameters:
  ///   - grace: How long a call may go on after it was cancelled.
  ///   - sleep: Waits.
  init(
    grace: Duration,
    sleep: @escaping @Sendable (Duration) async throws -> Void = QueryContext().sleep
  ) {
    (self.grace, self.sleep) = (grace, sleep)
  }

  /// - Parameter context: That of the attempt.
  convenience init(in context: QueryContext) {
    self.init(grace: context.attemptGrace, sleep: context.sleep)
  }

  /// Makes the call, and waits for it.
  ///
  /// - Parameters:
  ///   - lease: If it is revoked, the call is cancelled.
  ///   - limit: How long the call may take; nil: as long as it likes.
  ///   - body: What to call. It begins on this thread: another one would have to be woken for it.
  func run(
    _ lease: MutationLease,
    limit: Duration?,
    _ body: @escaping @Sendable () async throws -> Value
  ) async -> Ending {
    // Before the call, which may not wait for anything until it ends.
    self.limit(to: limit)
    lease.whenRevoked { self.cancel($0 == .lost ? .leaseLost : .requested) }
    lease.whenGivenUp { self.cancel(.givenUp) }
    let ending = await withTaskCancellationHandler {
      // In a task of its own, so that another thread can cancel the call and the attempt can abandon it.
      Task.immediate {
        guard self.begin() else { return }
        do { self.result = .success(try await body()) } catch { self.result = .failure(error) }
        self.ending.set(.ended(cancelled: self.guarded.withLock { $0.reason }))
      }
      return await self.ending.value()
    } onCancel: {
      self.cancel(.requested)
    }
    lease.whenRevoked(nil)
    lease.whenGivenUp(nil)
    let timers = self.guarded.withLock { call in
      call.hasEnded = true
      defer { (call.timers, call.task) = ([], nil) }
      return call.timers
    }
    for timer in timers { timer.cancel() }
    switch ending {
    case .leftBehind(let reason): return .leftBehind(reason)
    case .ended(let reason):
      return .ended(self.result ?? .failure(CancellationError()), cancelled: reason)
    }
  }

  /// Cancels the call when this time has passed from now; nil: never.
  func limit(to time: Duration?) {
    guard let time else { return }
    self.after(time) { self.cancel(.timeLimit) }
  }

  /// Notes the task of the call, and cancels it if the call was cancelled before.
  ///
  /// - Returns: Whether the call is to be made: not if the lease is lost already.
  private func begin() -> Bool {
    let task = BegunTask.current
    let reason = self.guarded.withLock { call in
      if !call.hasEnded { call.task = task }
      return call.reason
    }
    if reason != nil { task?.cancel() }
    return reason != .leaseLost
  }

  private func cancel(_ reason: Reason) {
    let (isFirst, task) = self.guarded.withLock { call in
      defer { if call.reason == nil { call.reason = reason } }
      return (call.reason == nil, call.task)
    }
    // The thread that cancels may be the one that commits for the whole process.
    if isFirst { task?.cancelElsewhere() }
    if reason == .leaseLost {
      self.ending.set(.leftBehind(reason))
    } else if isFirst {
      self.after(self.grace) { self.ending.set(.leftBehind(reason)) }
    }
  }

  private func after(_ time: Duration, _ action: @escaping @Sendable () -> Void) {
    self.guarded.withLock { call in
      if call.hasEnded { return }
      call.timers.append(
        Task.detached { [sleep] in if (try? await sleep(time)) != nil { action() } })
    }
  }
}

extension AttemptCall.Ending {
  /// The result of a call for a mutation, and a warning if the call goes on; nil if the lease is lost.
  func result(
    named name: String, tooLong error: @autoclosure () -> QueryTimeoutError
  ) -> Result<Value, any Error>? {
    switch self {
    case .ended(.failure, cancelled: .timeLimit): return .failure(error())
    case .ended(let result, _): return result
    case .leftBehind(.leaseLost): return nil
    case .leftBehind(let reason):
      QueryWarning.mutationLeftBehind(name: name).report()
      return .failure(reason == .timeLimit ? error() : CancellationError())
    }
  }
}

/// Why the call of an attempt is cancelled.
enum AttemptCancellation: Hashable, Sendable {
  /// Another process has taken over the row: the result of this call does not count.
  case leaseLost
  /// A caller has cancelled the attempt or the mutation.
  case requested
  /// The attempt has taken as long as it may.
  case timeLimit
  /// The network that it began on is gone.
  case givenUp
}

// Outside the class, since a generic type would be looked up in the runtime at each use.

private enum AttemptEnd: Sendable {
  case ended(cancelled: AttemptCancellation?)
  case leftBehind(AttemptCancellation)
}

private struct GuardedCall {
  var reason: AttemptCancellation?
  var task: BegunTask?
  var timers = [Task<Void, Never>]()
  var hasEnded = false
}

extension QueryContext {
  /// How long an attempt of a durable mutation may go on after it was cancelled, before it is abandoned.
  var attemptGrace: Duration {
    get { self[AttemptGraceKey.self] }
    set { self[AttemptGraceKey.self] = newValue }
  }

  private enum AttemptGraceKey: Key {
    static var defaultValue: Duration { .seconds(5) }
  }
}
