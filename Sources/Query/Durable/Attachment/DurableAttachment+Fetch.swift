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
      admission = try await self.admission(context, retrying: context.retriedMutation)
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
    var saved = SavedMutation(id: admission.id, key: admission.idempotencyKey)
    var lastLook = ContinuousClock.now
    while true {
      let id = saved.id
      switch try await saved.asking({ try ground.outbox.standing(of: id) }) {
      case .ended(let record):
        self.readAfterTask(admission.id)
        guard let successor = record.successor else { return try self.result(of: record) }
        saved = SavedMutation(id: successor, key: "")
      case .dead(let entry):
        self.readAfterTask(admission.id)
        throw MutationDeadError(entry)
      case .unknown:
        self.readAfterTask(admission.id)
        let successor = try await saved.asking { try ground.outbox.successor(ofForgotten: id) }
        saved = SavedMutation(id: successor, key: "")
      case .pending(let entry, let isNext):
        saved.key = entry.idempotencyKey
        if admission.isReplayers || !isNext || self.isHeldBack(context) {
          throw MutationQueuedError(entry)
        }
        if let lease = try await self.lease(of: saved, ground) {
          let attempt = await self.attempt(
            lease, admission, in: context, with: continuation, ground)
          if let result = attempt.result { return try result.get() }
        } else {
          _ = try await self.wait(for: entry, watch, atMost: context.turnPatience, ground)
        }
      case .leased(let entry):
        saved.key = entry.idempotencyKey
        if admission.isReplayers { throw MutationQueuedError(entry) }
        // What is told of other mutations does not put the look off.
        let patience = context.turnPatience - (.now - lastLook)
        if patience > .zero, try await !self.wait(for: entry, watch, atMost: patience, ground) {
          continue
        }
        lastLook = .now
        // A claim takes rows back whose process has died.
        guard let lease = try await self.lease(of: saved, ground) else { continue }
        let attempt = await self.attempt(lease, admission, in: context, with: continuation, ground)
        if let result = attempt.result { return try result.get() }
      }
    }
  }

  private func lease(of saved: SavedMutation, _ ground: Ground) async throws -> MutationLease? {
    try await saved.asking {
      try await ground.outbox.claim(ClaimRequest(.mutation(saved.id))).leases.first
    }
  }

  /// - Returns: Whether nothing was told for some seconds.
  /// - Throws: ``MutationQueuedError`` if this task must not wait, or is cancelled: the mutation is saved,
  ///   and its caller must not save it again.
  private func wait(
    for entry: OutboxEntry, _ watch: OutboxWatch, atMost patience: Duration, _ ground: Ground
  ) async throws -> Bool {
    if AttemptScope.isInside { throw MutationQueuedError(entry) }
    do {
      return try await watch.nextChange(atMost: patience)
    } catch let error as CancellationError {
      // It may have ended meanwhile, or have been erased, which cancels those that wait.
      if let standing = try? ground.outbox.standing(of: entry.id), !standing.isLive { return false }
      throw MutationQueuedError(entry, underlying: error)
    }
  }

  private func result(of record: RecordedMutation) throws -> MutationValue<Value> {
    MutationValue(returnValue: try self.answer(of: record))
  }

  /// The server's answer to a mutation that was sent elsewhere.
  ///
  /// - Throws: `MutationEndedError` if it did not succeed, ``MutationAppliedError`` if its answer cannot be read.
  func answer(of record: RecordedMutation) throws -> Value {
    let success = try record.ofSuccess()
    do {
      return try self.value(of: success)
    } catch let error as MutationAppliedError {
      throw error
    } catch {
      throw MutationAppliedError(underlying: error)
    }
  }
}

/// A mutation whose call waits: it is saved, whatever becomes of the call.
private struct SavedMutation {
  let id: UUID
  /// Its idempotency key; empty until it was read.
  var key: String

  /// Asks the outbox about it.
  ///
  /// - Throws: ``MutationQueuedError`` instead of `StorageError`, which says that nothing was saved.
  func asking<Answer>(_ question: () async throws -> Answer) async throws -> Answer {
    do {
      return try await question()
    } catch let error as StorageError {
      throw MutationQueuedError(
        id: self.id, idempotencyKey: self.key, waitReason: nil, underlyingError: error)
    }
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
