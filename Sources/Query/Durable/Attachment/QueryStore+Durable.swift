public import FoundationEssentials

extension QueryStore where State: _MutationStateProtocol {
  /// Commits a durable mutation without sending it: a replayer of this or another process sends it.
  ///
  /// - Parameters:
  ///   - arguments: What the mutation is given.
  ///   - dependencies: The durable mutations that must have succeeded before this one is sent.
  ///   - id: The mutation's identifier, if it has one already, such as that of a form: enqueueing it
  ///     again does nothing, whether it waits, runs or has ended, and the first arguments stay. The text
  ///     of the UUID is its idempotency key. Nil: one of its own.
  ///   - delay: How long it is not sent, counted from now; those behind it in its lane wait for it.
  ///     `outbox.cancel` is the undo until then, and `outbox.retry` sends it at once. Nil: it may be
  ///     sent at once.
  /// - Returns: A ticket, when the mutation is on disk.
  /// - Throws: ``MutationDeclarationError``, also if the mutation is not durable; ``StorageError``;
  ///   ``OutboxError``; ``MutationBodyError``; ``QueryIdentityError``; what the coder throws. Nothing
  ///   is saved then.
  @discardableResult
  public func enqueue(
    with arguments: State.Arguments,
    dependsOn dependencies: [UUID] = [],
    id: UUID? = nil,
    after delay: Duration? = nil
  ) async throws -> MutationTicket<State.Value> {
    let (durable, draft) = try self.draft(arguments, dependencies, id, delay)
    let enqueued = try await durable.commit(draft, claiming: false)
    durable.warnOfWaiting(enqueued)
    if !enqueued.isOld { durable.show(enqueued.entry, of: draft) }
    return try durable.ticket(enqueued.entry.id, enqueued.entry.idempotencyKey)
  }

  /// A mutation of this store that is about to be committed.
  ///
  /// - Throws: As ``enqueue(with:dependsOn:id:after:)`` of what can be seen before the commit.
  func draft(
    _ arguments: State.Arguments, _ dependencies: [UUID], _ id: UUID?, _ delay: Duration?
  ) throws -> (DurableAttachment<State.Arguments, State.Value>, MutationDraft<State.Arguments>) {
    let durable = try self.requireDurable()
    var context = self.context
    context.mutationDependencies = dependencies
    var draft = try durable.draft(with: arguments, in: context)
    if let id {
      (draft.new.id, draft.new.idempotencyKey) = (id, id.uuidString)
      draft.new.isRepeatable = true
    }
    draft.new.delay = delay
    return (durable, draft)
  }

  /// - Throws: ``MutationDeclarationError`` if the mutation is not durable.
  func requireDurable() throws -> DurableAttachment<State.Arguments, State.Value> {
    let storing = self.withLock { self.storing }
    guard let durable = storing as? DurableAttachment<State.Arguments, State.Value> else {
      throw MutationDeclarationError.notPersisted(mutation: "\(self.path)")
    }
    return durable
  }

  fileprivate func ticket(of id: UUID) throws -> MutationTicket<State.Value> {
    let durable = try self.requireDurable()
    let outbox = try durable.ground.get().outbox
    switch try outbox.standing(of: id) {
    case .pending(let entry, _), .leased(let entry), .dead(let entry):
      return try durable.ticket(id, entry.idempotencyKey)
    case .ended(let record): return try durable.ticket(id, record.idempotencyKey)
    case .unknown: return try durable.ticket(outbox.successor(ofForgotten: id), "")
    }
  }
}

extension QueryStore where State: _MutationStateProtocol, State.Arguments == Void {
  /// Commits a durable mutation that takes no arguments without sending it.
  ///
  /// See ``enqueue(with:dependsOn:id:after:)``.
  @discardableResult
  public func enqueue(
    dependsOn dependencies: [UUID] = [], id: UUID? = nil, after delay: Duration? = nil
  ) async throws -> MutationTicket<State.Value> {
    try await self.enqueue(with: (), dependsOn: dependencies, id: id, after: delay)
  }
}

extension MutationTicket {
  /// Gets the ticket of a mutation back, after a restart for example.
  ///
  /// - Parameters:
  ///   - id: The mutation's identifier, as ``MutationTicket/id`` or ``MutationQueuedError/id``.
  ///   - store: The store of the mutation.
  /// - Throws: ``MutationEndedError`` if its storage does not have it any more, which says how it ended if
  ///   that is remembered; ``MutationDeclarationError`` if the mutation is not durable;
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
    let client = self.edits.isEmpty ? nil : self.store?.context.queryClient
    return MutationTicket(
      id: id, idempotencyKey: idempotencyKey, outbox: try self.ground.get().outbox,
      showEnd: { [weak client] standing in client?.optimistic.showEnd(standing) },
      decode: { [plan] record in try DurableAttachment.value(of: record, by: plan) })
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
    guard let declaration = self.declaration(of: mutation) else { return nil }
    // A store of another declaration is an error here.
    let store = self.resolve(mutation) { MutationState() }
    typealias Attachment = DurableAttachment<Mutation.Arguments, Mutation.ReturnValue>
    guard let durable = store.withLock({ store.storing }) as? Attachment else { return nil }
    if let flaw = declaration.plan.difference(from: durable.plan, path: store.path) { throw flaw }
    return StoreRunner(
      requestType: Mutation.self,
      handler: declaration.plan.handler(instance: try durable.ground.get().instance),
      store: store, durable: durable, declaration: declaration)
  }

  /// What a mutation declares itself, whatever store there is at its path.
  private func declaration<Mutation: MutationRequest>(
    of mutation: Mutation
  ) -> DurableDeclaration<Mutation.Arguments, Mutation.ReturnValue>? {
    var context = self.defaultContext
    // It is never fetched by itself, and reads nothing.
    context.queryStorage = nil
    let store = self.storeCreator.store(for: mutation, in: context, with: MutationState())
    // A user's creator may return one store twice.
    defer {
      if self.withCache({ $0[mutation.path] })?.erased !== store { store.endControllers() }
    }
    typealias Attachment = DurableAttachment<Mutation.Arguments, Mutation.ReturnValue>
    guard let durable = store.withLock({ store.storing }) as? Attachment else { return nil }
    return durable.declaration
  }
}

/// Runs leased rows through a store, so that its state, history and handlers show them.
private struct StoreRunner<Arguments: Sendable, Value: Sendable>: DurableRunner {
  let requestType: Any.Type
  let handler: MutationHandler
  let store: QueryStore<MutationState<Arguments, Value>>
  let durable: DurableAttachment<Arguments, Value>
  /// That of the registration: a later one replaces coder, closures and credentials of an earlier one.
  let declaration: DurableDeclaration<Arguments, Value>

  var isAttemptedWhileOffline: Bool { self.store.context.isAttemptedWhileOffline }

  func declareEdits() { self.declaration.declareEdits(of: self.store, replacing: true) }

  var batchLimit: Int { self.declaration.batching?.maximum ?? 1 }

  func makeBatch(of count: Int) -> (any AttemptBatch)? {
    guard let batching = self.declaration.batching else { return nil }
    let (durable, plan) = (self.durable, self.declaration.plan)
    return BatchCall(
      of: count, batching,
      BatchCall.Terms(
        limit: plan.options.attemptTimeout, grace: self.store.context.attemptGrace,
        sleep: self.store.context.sleep,
        timeLimitError: plan.timeLimitError,
        judge: { error, context in
          let verdict = durable.verdict(on: error, context)
          let isAboutOne =
            switch verdict.failure {
            case .conflict, .permanent: true
            case .connectivity, .transient, .authentication, .cancelled: verdict.limit != nil
            }
          return BatchCall.Judgement(isAboutOne: isAboutOne, maybeApplied: verdict.maybeApplied)
        },
        warn: { QueryWarning.mutationLeftBehind(name: plan.name).report() }))
  }

  func run(_ lease: MutationLease) async -> AttemptReport { await self.run(lease, nil) }

  func run(_ lease: MutationLease, in batch: BatchPlace) async -> AttemptReport {
    defer { batch.batch.leave(batch.place) }
    return await self.run(lease, batch)
  }

  private func run(_ lease: MutationLease, _ batch: BatchPlace?) async -> AttemptReport {
    guard let outbox = try? self.durable.ground.get().outbox else { return .leaseLost }
    let entry = lease.entry
    let arguments = try? self.declaration.plan.arguments(
      entry.arguments, version: entry.version, coder: entry.coder)
    let admission = AttemptAdmission(
      entry, lease: lease, outbox: outbox, declaration: self.declaration, isReplayers: true,
      batch: batch)
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
