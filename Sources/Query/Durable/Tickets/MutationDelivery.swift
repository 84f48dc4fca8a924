public import FoundationEssentials

/// What became of a durable mutation that was submitted: either way it is not to be entered again.
public enum MutationDelivery<Value: Sendable>: Sendable {
  /// The server has it, and this is what the mutation returned.
  case sent(Value)
  /// It is on disk and will be sent. The reason is what it waits for; nil if it is due at once.
  case saved(MutationTicket<Value>, MutationWaitReason?)

  /// What the mutation returned, if it was sent.
  public var value: Value? {
    if case .sent(let value) = self { value } else { nil }
  }

  /// The ticket, if it was saved.
  public var ticket: MutationTicket<Value>? {
    if case .saved(let ticket, _) = self { ticket } else { nil }
  }
}

extension QueryStore where State: _MutationStateProtocol {
  /// Commits a durable mutation, and sends it if it can be sent now.
  ///
  /// ```swift
  /// switch try await client.store(for: create).submit(with: note) {
  /// case .sent(let created): show(created)
  /// case .saved: show("Saved. It will be sent once you are online.")
  /// }
  /// ```
  /// This is the first door of a form: it returns for all that is not to be entered again, and throws
  /// only if nothing was saved, or if the mutation is dead. `mutate(with:)` is for a caller who needs the
  /// server's answer.
  ///
  /// - Parameters:
  ///   - arguments: What the mutation is given.
  ///   - dependencies: The durable mutations that must have succeeded before this one is sent.
  /// - Returns: What became of it.
  /// - Throws: If nothing was saved, ``MutationDeclarationError``, also if the mutation is not durable,
  ///   ``StorageError``, ``OutboxError``, ``QueryIdentityError`` and what the coder throws; if the server
  ///   has refused it, what the mutation threw, and ``MutationDeadError``; ``MutationEndedError`` if it was
  ///   cancelled meanwhile; ``MutationAppliedError`` if the server has it and its answer was of no use.
  @discardableResult
  public func submit(
    with arguments: State.Arguments,
    dependsOn dependencies: [UUID] = []
  ) async throws -> MutationDelivery<State.Value> {
    let durable = try self.requireDurable()
    let admitted = Locked<(any AdmittedAttempt)?>(nil)
    do {
      return .sent(
        try await self.attempt(
          arguments, .mutate, dependsOn: dependencies, in: self.taskContext(nil), .init(),
          onAdmission: { attempt in admitted.withLock { $0 = attempt } }))
    } catch let queued as MutationQueuedError {
      return .saved(try durable.ticket(queued.id, queued.idempotencyKey), queued.waitReason)
    } catch let error as CancellationError {
      guard let attempt = admitted.withLock({ $0 }) else { throw error }
      return try durable.delivery(of: attempt.id, attempt.idempotencyKey)
    }
  }
}

extension DurableAttachment {
  /// What has become of a mutation that was saved, and whose call was cancelled: neither the task nor the
  /// caller knows.
  ///
  /// - Throws: As ``QueryStore/submit(with:dependsOn:)`` of one that is dead or has ended.
  fileprivate func delivery(of id: UUID, _ key: String) throws -> MutationDelivery<Value> {
    let outbox = try self.ground.get().outbox
    var (id, key) = (id, key)
    // If it cannot be read now, it is saved all the same.
    while let standing = try? outbox.standing(of: id) {
      switch standing {
      case .dead(let entry): throw MutationDeadError(entry)
      case .pending(let entry, _), .leased(let entry):
        let queued = MutationQueuedError(entry)
        return .saved(try self.ticket(id, entry.idempotencyKey), queued.waitReason)
      case .ended(let record):
        guard let successor = record.successor else {
          return .sent(try self.answer(of: record))
        }
        (id, key) = (successor, "")
      case .unknown: (id, key) = (try outbox.successor(ofForgotten: id), "")
      }
    }
    return .saved(try self.ticket(id, key), nil)
  }
}

extension QueryStore where State: _MutationStateProtocol, State.Arguments == Void {
  /// Commits a durable mutation that takes no arguments, and sends it if it can be sent now.
  ///
  /// See ``submit(with:dependsOn:)``.
  @discardableResult
  public func submit(
    dependsOn dependencies: [UUID] = []
  ) async throws -> MutationDelivery<State.Value> {
    try await self.submit(with: (), dependsOn: dependencies)
  }
}
