import FoundationEssentials

extension DurableAttachment {
  typealias Continuation = QueryContinuation<MutationValue<Value>>

  /// Makes the attempt of a call, or waits for the outcome of its mutation.
  func fetch(
    in context: QueryContext,
    with continuation: Continuation
  ) async throws -> MutationValue<Value> {
    let ground = try self.ground.get()
    var admission = context.admittedAttempt as? AttemptAdmission
    if admission == nil {
      // A task that was scheduled, and is run now.
      admission = try await self.admission(context, isRetry: false)
      if let admission { self.show(admission, in: context) }
    }
    guard let admission else { return try await self.chain(context, continuation) }
    if let lease = admission.takeLease() {
      let attempt = await self.attempt(lease, admission, in: context, with: continuation, ground)
      if let result = attempt.result { return try result.get() }
    }
    return try await self.waitForTurn(admission, in: context, with: continuation, ground)
  }

  /// Records in the history which mutation an entry is about.
  private func show(_ admission: AttemptAdmission, in context: QueryContext) {
    guard let task = context.queryRunningTaskIdentifier, let store = self.store else { return }
    store.withLock { store._state.note(admission, at: task, in: context) }
  }

  /// Waits for the outcome, whichever process sends the mutation, as long as only running ones are
  /// before it, and makes the attempt when its turn comes.
  private func waitForTurn(
    _ admission: AttemptAdmission,
    in context: QueryContext,
    with continuation: Continuation,
    _ ground: Ground
  ) async throws -> MutationValue<Value> {
    let watch = OutboxWatch(ground.outbox)
    var id = admission.id
    var lastLook = ContinuousClock.now
    while true {
      switch try ground.outbox.standing(of: id) {
      case .ended(let record):
        guard let successor = record.successor else { return try self.result(of: record) }
        id = successor
      case .dead(let entry): throw MutationDeadError(entry)
      case .unknown: id = try ground.outbox.successor(ofForgotten: id)
      case .pending(let entry, let isNext):
        if admission.isReplayers || !isNext || self.isHeldBack(context) {
          throw MutationQueuedError(entry)
        }
        if let lease = try await self.lease(of: id, ground) {
          let attempt = await self.attempt(
            lease, admission, in: context, with: continuation, ground)
          if let result = attempt.result { return try result.get() }
        } else {
          _ = try await self.wait(for: entry, watch, atMost: context.turnPatience)
        }
      case .leased(let entry):
        if admission.isReplayers { throw MutationQueuedError(entry) }
        // What is told of other mutations does not put the look off.
        let patience = context.turnPatience - (.now - lastLook)
        if patience > .zero, try await !self.wait(for: entry, watch, atMost: patience) { continue }
        lastLook = .now
        // A claim takes rows back whose process has died.
        guard let lease = try await self.lease(of: id, ground) else { continue }
        let attempt = await self.attempt(lease, admission, in: context, with: continuation, ground)
        if let result = attempt.result { return try result.get() }
      }
    }
  }

  private func lease(of id: UUID, _ ground: Ground) async throws -> MutationLease? {
    try await ground.outbox.claim(ClaimRequest(.mutation(id))).leases.first
  }

  /// - Returns: Whether nothing was told for some seconds.
  /// - Throws: ``MutationQueuedError`` if this task must not wait, or is cancelled: the mutation is saved,
  ///   and its caller must not save it again.
  private func wait(
    for entry: OutboxEntry, _ watch: OutboxWatch, atMost patience: Duration
  ) async throws -> Bool {
    if AttemptScope.isInside { throw MutationQueuedError(entry) }
    do {
      return try await watch.nextChange(atMost: patience)
    } catch let error as CancellationError {
      throw MutationQueuedError(entry, underlying: error)
    }
  }

  private func result(of record: RecordedMutation) throws -> MutationValue<Value> {
    MutationValue(returnValue: try self.value(of: record.ofSuccess()))
  }

}

extension RecordedMutation {
  var isCancelled: Bool { if case .ended(.cancelled) = self.state { true } else { false } }

  /// This record, of a mutation that succeeded.
  ///
  /// - Throws: `MutationEndedError` if it ended otherwise.
  func ofSuccess() throws(MutationEndedError) -> RecordedMutation {
    switch self.state {
    case .ended(.succeeded): return self
    case .ended(let outcome): throw MutationEndedError(id: self.id, outcome)
    case .outbox: throw MutationEndedError(id: self.id, reason: .unknown)
    }
  }
}

extension MutationEndedError {
  /// - Parameter outcome: Not a success.
  init(id: UUID, _ outcome: RecordedMutation.Outcome) {
    switch outcome {
    case .cancelled: self.init(id: id, reason: .cancelled)
    case .discarded: self.init(id: id, reason: .discarded)
    case .superseded: self.init(id: id, reason: .superseded)
    case .succeeded: self.init(id: id, reason: .succeeded)
    }
  }
}

extension MutationOutbox {
  /// The mutation that superseded one which the storage does not have any more.
  ///
  /// - Throws: `MutationEndedError`, which says how it ended as far as that is remembered.
  func successor(ofForgotten id: UUID) throws -> UUID {
    guard let end = try self.forgottenEnd(of: id) else {
      throw MutationEndedError(id: id, reason: .unknown)
    }
    guard let successor = end.successor else { throw MutationEndedError(id: id, end.outcome) }
    return successor
  }
}

extension QueryContext {
  /// How long a caller waits for its turn until it looks whether those that it waits for still run.
  var turnPatience: Duration {
    get { self[TurnPatienceKey.self] }
    set { self[TurnPatienceKey.self] = newValue }
  }

  private enum TurnPatienceKey: Key {
    static var defaultValue: Duration { .seconds(5) }
  }
}
