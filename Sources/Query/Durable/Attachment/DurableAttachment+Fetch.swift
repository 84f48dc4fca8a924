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
        let claim = try await ground.outbox.claim(ClaimRequest(.mutation(id)))
        if let lease = claim.leases.first {
          let attempt = await self.attempt(
            lease, admission, in: context, with: continuation, ground)
          if let result = attempt.result { return try result.get() }
        } else {
          try await self.wait(for: entry, watch)
        }
      case .leased(let entry):
        if admission.isReplayers { throw MutationQueuedError(entry) }
        try await self.wait(for: entry, watch)
      }
    }
  }

  /// - Throws: ``MutationQueuedError`` if this task must not wait, or is cancelled: the mutation is saved,
  ///   and its caller must not save it again.
  private func wait(for entry: OutboxEntry, _ watch: OutboxWatch) async throws {
    if AttemptScope.isInside { throw MutationQueuedError(entry) }
    do {
      try await watch.nextChange()
    } catch let error as CancellationError {
      throw MutationQueuedError(entry, underlying: error)
    }
  }

  private func result(of record: RecordedMutation) throws -> MutationValue<Value> {
    MutationValue(returnValue: try self.value(of: record.ofSuccess()))
  }

}

extension RecordedMutation {
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
