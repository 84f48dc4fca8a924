public import FoundationEssentials

extension QueryStore where State: _MutationStateProtocol {
  /// Commits a durable mutation without sending it: a replayer of this or another process sends it.
  ///
  /// - Parameters:
  ///   - arguments: What the mutation is given.
  ///   - dependencies: The durable mutations that must have succeeded before this one is sent.
  /// - Returns: A ticket, when the mutation is on disk.
  /// - Throws: ``MutationDeclarationError``, also if the mutation is not durable; ``StorageError``;
  ///   ``OutboxError``; ``QueryIdentityError``; what the coder throws. Nothing is saved then.
  @discardableResult
  public func enqueue(
    with arguments: State.Arguments,
    dependsOn dependencies: [UUID] = []
  ) async throws -> MutationTicket<State.Value> {
    guard let durable = self.durable else {
      throw MutationDeclarationError.notPersisted(mutation: "\(self.path)")
    }
    var context = self.context
    context.mutationDependencies = dependencies
    let enqueued = try await durable.enqueue(arguments, in: context, claiming: false)
    durable.show(enqueued.entry, arguments)
    return try durable.ticket(enqueued.entry.id, enqueued.entry.idempotencyKey)
  }

  private var durable: DurableAttachment<State.Arguments, State.Value>? {
    self.withLock { self.storing } as? DurableAttachment<State.Arguments, State.Value>
  }

  fileprivate func ticket(of id: UUID) throws -> MutationTicket<State.Value> {
    guard let durable = self.durable else {
      throw MutationDeclarationError.notPersisted(mutation: "\(self.path)")
    }
    let outbox = try durable.ground.get().outbox
    switch try outbox.standing(of: id) {
    case .pending(let entry, _), .leased(let entry), .dead(let entry):
      return try durable.ticket(id, entry.idempotencyKey)
    case .ended(let record): return try durable.ticket(id, record.idempotencyKey)
    case .unknown: throw MutationEndedError(id: id, reason: .unknown)
    }
  }
}

extension QueryStore where State: _MutationStateProtocol, State.Arguments == Void {
  /// Commits a durable mutation that takes no arguments without sending it.
  ///
  /// See ``enqueue(with:dependsOn:)``.
  @discardableResult
  public func enqueue(dependsOn dependencies: [UUID] = []) async throws -> MutationTicket<
    State.Value
  > {
    try await self.enqueue(with: (), dependsOn: dependencies)
  }
}

extension MutationTicket {
  /// Gets the ticket of a mutation back, after a restart for example.
  ///
  /// - Parameters:
  ///   - id: The mutation's identifier, as ``MutationTicket/id`` or ``MutationQueuedError/id``.
  ///   - store: The store of the mutation.
  /// - Throws: ``MutationEndedError`` with ``MutationEndedError/Reason/unknown`` if its storage
  ///   does not know it; ``MutationDeclarationError`` if the mutation is not durable;
  ///   ``StorageError``.
  public init<State: _MutationStateProtocol>(
    id: UUID,
    in store: QueryStore<State>
  ) throws where State.Value == Value {
    self = try store.ticket(of: id)
  }
}

extension DurableAttachment {
  func ticket(_ id: UUID, _ idempotencyKey: String) throws -> MutationTicket<Value> {
    MutationTicket(
      id: id, idempotencyKey: idempotencyKey, outbox: try self.ground.get().outbox,
      decode: { [plan] record in try DurableAttachment.value(of: record, by: plan) })
  }

  /// Shows a mutation that was committed.
  func show(_ entry: OutboxEntry, _ arguments: Arguments) {
    guard let store = self.store else { return }
    store.withLock {
      store._state.append(entry, arguments, in: store._context)
      store.emit(.stateChanged, in: store._context)
    }
  }
}

// MARK: - For a replayer

extension QueryClient {
  /// The runner of a mutation's leased rows, through this client's store for it.
  ///
  /// - Returns: Nil if the mutation is not durable.
  /// - Throws: ``MutationDeclarationError``; ``QueryIdentityError``; ``StorageError`` if the client
  ///   has no storage.
  package func durableRunner<Mutation: MutationRequest>(
    for mutation: Mutation
  ) throws -> (any DurableRunner)? {
    let store = self.store(for: mutation)
    let storing = store.withLock { store.storing }
    typealias Attachment = DurableAttachment<Mutation.Arguments, Mutation.ReturnValue>
    guard let durable = storing as? Attachment else {
      return nil
    }
    return StoreRunner(
      requestType: Mutation.self, handler: durable.handler(on: try durable.ground.get()),
      store: store, durable: durable)
  }
}

/// Runs leased rows through a store, so that its state, history and handlers show them.
private struct StoreRunner<Arguments: Sendable, Value: Sendable>: DurableRunner {
  let requestType: Any.Type
  let handler: MutationHandler
  let store: QueryStore<MutationState<Arguments, Value>>
  let durable: DurableAttachment<Arguments, Value>

  var isAttemptedWhileOffline: Bool { self.store.context.isAttemptedWhileOffline }

  func run(_ lease: MutationLease) async -> AttemptReport {
    guard let outbox = try? self.durable.ground.get().outbox else { return .leaseLost }
    let entry = lease.entry
    let arguments = try? self.durable.arguments(
      entry.arguments, version: entry.version, coder: entry.coder)
    let admission = AttemptAdmission(entry, lease: lease, outbox: outbox, isReplayers: true)
    guard let arguments else {
      // There are no arguments to show it with.
      return await self.durable.giveUp(lease, admission, outbox)
    }
    do {
      _ = try await self.store.run(in: self.store.context, name: .mutate, handler: nil) {
        $0[QueryContext.MutationArgumentsKey<Arguments>.self] = arguments
        $0.admittedAttempt = admission
      }
    } catch {
      // The report says what became of it.
    }
    return await admission.finalReport()
  }
}
