import FoundationEssentials
import Synchronization

/// Connects the store of a durable mutation to the outbox of its storage.
///
/// It writes the row, makes the attempt and settles it around the whole chain of modifiers: it
/// wraps the store's request.
final class DurableAttachment<Arguments: Sendable, Value: Sendable>:
  // @unchecked: the variables are constants once the store is made; what changes has a lock.
  StoreAttachment<MutationState<Arguments, Value>>, @unchecked Sendable
{
  typealias Store = QueryStore<MutationState<Arguments, Value>>
  typealias Request = Store.Fetch

  /// What storing a mutation needs.
  struct Ground: Sendable {
    let outbox: any MutationOutbox
    /// What the request itself holds.
    let instance: String
  }

  let plan: TypedMutationPlan<Arguments, Value>
  /// What storing mutations of this store needs, or why they cannot be stored.
  let ground: Result<Ground, any Error>
  /// The request of the mutation's store.
  let chain: Request
  /// What it changes in the values of queries.
  let edits: OptimisticEdits<Arguments>
  /// How several are sent in one call; nil: each alone.
  let batching: MutationBatching<Arguments, Value>?
  private(set) weak var store: Store?
  private let rereads: Rereads
  /// The new mutations of this store whose ends are being written: their tasks show them.
  let ending = Locked(Set<UUID>())
  /// The mutations of which something was told while their tasks ran, or at whose end these looked too early:
  /// they are read when the tasks have ended. Guarded by the store's lock.
  private var awaitedTasks = Set<UUID>()
  /// How often it was told that a mutation has ended or waits again.
  private let told = Atomic(0)
  private var subscription = QuerySubscription.empty

  /// Wraps the request of a new store, and hydrates its history.
  static func attach(_ plan: TypedMutationPlan<Arguments, Value>, to store: Store) {
    let durable = DurableAttachment(plan, for: store)
    store.storing = durable
    store.request = { context, continuation in
      try await durable.fetch(in: context, with: continuation)
    }
    guard case .success(let ground) = durable.ground else { return }
    store.context.queryClient?.replayCoordinator.add(durable)
    durable.subscription = ground.outbox.subscribe { [weak durable] event in
      durable?.didChange(event)
    }
    durable.hydrate(store, from: ground)
    if !durable.edits.isEmpty, Registration.path != store.path {
      durable.declaration.declareEdits(of: store, replacing: false)
    }
  }

  private init(_ plan: TypedMutationPlan<Arguments, Value>, for store: Store) {
    self.plan = plan
    self.ground = Self.ground(plan, store)
    self.chain = store.request
    self.edits = store.context.optimisticEdits as? OptimisticEdits<Arguments> ?? OptimisticEdits()
    self.batching = store.context.mutationBatching as? MutationBatching<Arguments, Value>
    self.rereads = Rereads(store.context.outboxRereadPause)
    self.store = store
  }

  deinit { self.subscription.cancel() }

  private static func ground(
    _ plan: TypedMutationPlan<Arguments, Value>,
    _ store: Store
  ) -> Result<Ground, any Error> {
    Result {
      if let flaw = plan.flaw { throw flaw }
      if store.context.mutationBatching != nil, !plan.options.scope.hasLane {
        throw MutationDeclarationError.batchedWithoutScope(name: plan.name)
      }
      guard let storage = store.context.queryStorage else {
        throw StorageError(
          operation: "mutate", code: .cannotOpen,
          message: """
            \(plan.name) is durable, and its context has no queryStorage; \
            create the client with QueryClient(storage:)
            """)
      }
      return Ground(
        outbox: storage.outbox, instance: try QueryIdentity(instancePath: store.path).text)
    }
  }

  /// The store's own declaration.
  var declaration: DurableDeclaration<Arguments, Value> {
    DurableDeclaration(
      plan: self.plan, chain: self.chain, edits: self.edits, batching: self.batching)
  }

  /// The plan of an attempt: that of its registration if a replayer makes it.
  func plan(in context: QueryContext) -> TypedMutationPlan<Arguments, Value> {
    context.mutationPlan as? TypedMutationPlan<Arguments, Value> ?? self.plan
  }

  // MARK: - Committing

  override func admit(
    _ context: QueryContext,
    isRetry: Bool
  ) async throws -> (any AdmittedAttempt)? {
    try await self.admission(
      context, retrying: isRetry ? self.store?.state.history.last?.mutationID : nil)
  }

  /// - Parameter retried: The mutation of which another attempt is asked for, if it is still in the outbox.
  func admission(
    _ context: QueryContext,
    retrying retried: UUID?
  ) async throws -> AttemptAdmission? {
    let ground = try self.ground.get()
    if let retried, let admission = try await self.readmit(retried, context, ground) {
      return admission
    }
    let key = QueryContext.MutationArgumentsKey<Arguments>.self
    guard let arguments = context[key] ?? self.store?.state.history.last?.arguments else {
      // The attempt's error says what is missing.
      return nil
    }
    let enqueued = try await self.enqueue(
      arguments, in: context, claiming: !self.isHeldBack(context))
    return AttemptAdmission(
      enqueued.entry, lease: enqueued.lease, outbox: ground.outbox, isOld: false)
  }

  /// Admits a mutation again, if it is still in the outbox.
  private func readmit(
    _ id: UUID,
    _ context: QueryContext,
    _ ground: Ground
  ) async throws -> AttemptAdmission? {
    switch try ground.outbox.standing(of: id) {
    case .ended, .unknown: return nil
    case .leased(let entry): return AttemptAdmission(entry, lease: nil, outbox: ground.outbox)
    case .pending(let entry, _), .dead(let entry):
      try await ground.outbox.retry(id)
      if self.isHeldBack(context) {
        return AttemptAdmission(entry, lease: nil, outbox: ground.outbox)
      }
      // It is to be sent now, whether or not this call can do it.
      let claim = try? await ground.outbox.claim(ClaimRequest(.mutation(id)))
      return AttemptAdmission(entry, lease: claim?.leases.first, outbox: ground.outbox)
    }
  }

  /// Whether to make no attempt now, because the network is known to be down.
  func isHeldBack(_ context: QueryContext) -> Bool {
    context.isKnownToBeOffline && !context.isAttemptedWhileOffline
  }

  /// Commits a mutation.
  ///
  /// - Throws: What coding throws; ``OutboxError``; ``StorageError``; ``MutationBodyError``;
  ///   ``MutationDeclarationError``; ``QueryIdentityError``. Nothing is kept then.
  func enqueue(
    _ arguments: Arguments,
    in context: QueryContext,
    claiming: Bool
  ) async throws -> EnqueuedMutation {
    let draft = try self.draft(with: arguments, in: context)
    let enqueued = try await self.commit(draft, claiming: claiming)
    self.warnOfWaiting(enqueued)
    return enqueued
  }

  /// Commits a mutation, and shows its edits.
  ///
  /// - Throws: As ``enqueue(_:in:claiming:)``.
  func commit(
    _ draft: MutationDraft<Arguments>, claiming: Bool
  ) async throws -> EnqueuedMutation {
    let outbox = try self.ground.get().outbox
    guard let index = self.activeIndex else {
      return try await outbox.enqueue(draft.new, claiming: claiming)
    }
    let before = index.willEnqueue()
    defer { index.didEndEnqueueing() }
    let enqueued = try await outbox.enqueue(draft.new, claiming: claiming)
    self.showEdits(of: draft, enqueued, since: before, index)
    return enqueued
  }

  func showEdits(
    of draft: MutationDraft<Arguments>, _ enqueued: EnqueuedMutation,
    since before: OptimisticIndex.Enqueueing, _ index: OptimisticIndex
  ) {
    guard case .success(let ground) = self.ground else { return }
    index.didEnqueue(
      enqueued, draft.arguments, draft.edits, self.plan.handler(instance: ground.instance),
      since: before)
  }

  /// The edits of the client, if there are any.
  var activeIndex: OptimisticIndex? {
    guard let index = self.store?.context.queryClient?.optimistic,
      index.isActive
    else { return nil }
    return index
  }

  /// A mutation that is about to be committed.
  ///
  /// - Throws: What coding throws; ``MutationDeclarationError``; ``QueryIdentityError``;
  ///   ``StorageError`` if the context has no storage.
  func draft(
    with arguments: Arguments, in context: QueryContext
  ) throws -> MutationDraft<Arguments> {
    let ground = try self.ground.get()
    let options = self.plan.options
    var mutation = NewMutation(
      id: .inOrder(),
      name: self.plan.name, instance: ground.instance, version: options.version,
      lane: options.scope.lane(of: arguments), host: options.host?(arguments),
      onFailure: options.onFailure, maxAttempts: options.maxAttempts, maxAge: options.maxAge,
      coalesce: options.coalesce, dependencies: context.mutationDependencies,
      coder: options.coder.name,
      arguments: try self.plan.codec.encodeArguments(arguments, options.coder),
      waitReason: self.isHeldBack(context) ? .offline : nil, priority: options.priority)
    mutation.hasFreshID = true
    mutation.bodies = options.bodies?(arguments) ?? []
    let edits = self.edits.placed(with: arguments)
    mutation.editedPaths = edits.paths
    return MutationDraft(
      new: mutation, arguments: arguments, edits: edits,
      told: self.told.load(ordering: .sequentiallyConsistent))
  }

  /// Says that a mutation which was committed waits, if it does and the client's replayer does not know it.
  func warnOfWaiting(_ enqueued: EnqueuedMutation) {
    guard enqueued.lease == nil, let ground = try? self.ground.get() else { return }
    self.store?.context.queryClient?.replayCoordinator.willWait(
      self.plan.handler(instance: ground.instance))
  }

  override func disagreement(with context: QueryContext) -> QueryWarning? {
    guard let other = context.mutationPlan as? TypedMutationPlan<Arguments, Value>,
      let store = self.store
    else { return nil }
    return other.difference(from: self.plan, path: store.path).map(QueryWarning.otherDeclaration)
  }

  // MARK: - Coding

  /// The arguments of a row, upgraded to the version of this program.
  func arguments(_ data: Data, version: Int, coder: String) throws -> Arguments {
    try self.plan.arguments(data, version: version, coder: coder)
  }

  /// The result of a mutation that succeeded.
  func value(of record: RecordedMutation) throws -> Value {
    try Self.value(of: record, by: self.plan)
  }

  static func value(
    of record: RecordedMutation,
    by plan: TypedMutationPlan<Arguments, Value>
  ) throws -> Value {
    guard let result = record.result else {
      throw MutationAppliedError(underlying: LostResult(id: record.id))
    }
    guard record.coder == plan.options.coder.name else { throw OtherCoder(name: record.coder) }
    return try plan.codec.decodeValue(result, plan.options.coder)
  }

  // MARK: - What happens to its mutations elsewhere

  private func didChange(_ event: OutboxEvent) {
    switch event {
    case .changedByAnotherProcess:
      self.rereads.request { [weak self] in self?.refreshAll() }
    case .succeeded(let id), .dead(let id, _), .cancelled(let id), .superseded(let id, _),
      .discarded(let id), .pending(let id):
      self.refresh(id)
    case .erased: self.store?.reset()
    case .enqueued, .claimed, .reaped, .released: break
    }
  }

  private func refresh(_ id: UUID) {
    // Looking it up in the history takes longer than all that is told of a commit.
    if self.ending.withLock({ $0.contains(id) }) { return }
    // Counted first: the call that has committed it may not have shown it yet, and looks then.
    self.told.add(1, ordering: .sequentiallyConsistent)
    guard let store = self.store, store.withLock({ self.isReadNow(id, in: store._state) }) else {
      return
    }
    self.read(id, in: store, isAfterItsTask: false)
  }

  /// The caller holds the store's lock.
  private func isReadNow(_ id: UUID, in state: MutationState<Arguments, Value>) -> Bool {
    if !state.runs(id) { return state.isDecidedElsewhere(id) }
    self.awaitedTasks.insert(id)
    return false
  }

  private func read(_ id: UUID, in store: Store, isAfterItsTask: Bool) {
    // A standing that cannot be read now is read at the next change.
    guard case .success(let ground) = self.ground,
      let standing = try? ground.outbox.standing(of: id)
    else { return }
    self.show([(id, standing)], in: store, isAfterItsTask: isAfterItsTask)
  }

  /// Has what became of a mutation shown once its task has ended, which does not show that itself.
  func readAfterTask(_ id: UUID) {
    self.store?.withLock { _ = self.awaitedTasks.insert(id) }
  }

  override func fetchDidEnd() {
    guard !self.awaitedTasks.isEmpty, let store = self.store else { return }
    let ended = self.awaitedTasks.filter { !store._state.runs($0) }
    if ended.isEmpty { return }
    self.awaitedTasks.subtract(ended)
    store.aftermath.actions.append { [weak self] in
      guard let self, let store = self.store else { return }
      for id in ended { self.read(id, in: store, isAfterItsTask: true) }
    }
  }

  /// Records in the history that a mutation is no longer live, and whether it has ended for good: a
  /// dead one may come back.
  func close(_ id: UUID, isOver: Bool) {
    guard let store = self.store else { return }
    store.withLock {
      store._state.close(id, isOver: isOver)
      // What was told of it meanwhile is of the attempt that ends here.
      self.awaitedTasks.remove(id)
    }
  }

  /// Shows a mutation that was committed, unless a replayer has begun to send it meanwhile.
  func show(_ entry: OutboxEntry, of draft: MutationDraft<Arguments>) {
    guard let store = self.store else { return }
    store.withLock {
      guard store._state.append(entry, draft.arguments, in: store._context) else { return }
      store.emit(.stateChanged, in: store._context)
    }
    // What was told of it before it was shown has reached no entry.
    if self.told.load(ordering: .sequentiallyConsistent) != draft.told { self.refresh(entry.id) }
  }

  /// Reads in one go what became of the mutations that the history shows.
  private func refreshAll() {
    guard let store = self.store, case .success(let ground) = self.ground else { return }
    let ids = store.withLock {
      self.awaitedTasks.formUnion(store._state.running)
      return store._state.decidedElsewhere
    }
    guard !ids.isEmpty, let standings = try? ground.outbox.standings(of: ids) else { return }
    self.show(Array(zip(ids, standings)), in: store)
  }

  private func show(
    _ changes: [(id: UUID, standing: MutationStanding)], in store: Store,
    isAfterItsTask: Bool = false
  ) {
    for (id, standing) in changes {
      let (result, isLive, isOver) = self.entryValues(of: standing, id)
      if let content = standing.content { self.renew(id, content, in: store) }
      store.withLock {
        let isChanged = self.change(id, in: store) {
          $0.refresh(
            id, result, isLive: isLive, isOver: isOver, isAfterItsTask: isAfterItsTask,
            in: store._context)
        }
        if isChanged { store.emit(.stateChanged, in: store._context) }
      }
    }
  }

  /// Shows a mutation with what it is sent with: a person or a conflict may have given it other arguments, and
  /// another key with them.
  private func renew(_ id: UUID, _ content: MutationStanding.Content, in store: Store) {
    guard let key = store.withLock({ store._state.entry(of: id)?.durable?.idempotencyKey }),
      key != content.idempotencyKey
    else { return }
    // Decoded outside the lock, by the user's code.
    let arguments = try? self.arguments(
      content.arguments, version: content.version, coder: content.coder)
    store.withLock {
      self.change(id, in: store) { $0.renew(id, arguments, key: content.idempotencyKey) }
    }
  }

  /// Changes what the history shows of a mutation. The caller holds the store's lock.
  private func change<Result>(
    _ id: UUID, in store: Store, _ body: (inout MutationState<Arguments, Value>) -> Result
  ) -> Result {
    // The `deinit` of what is replaced, which is the user's, may use the store.
    let replaced = store._state.entry(of: id)
    store.aftermath.actions.append { withExtendedLifetime(replaced) {} }
    return body(&store._state)
  }

  /// Shows the mutation of an attempt with what it is sent with.
  func show(_ lease: MutationLease, with arguments: Arguments, of admission: AttemptAdmission) {
    let entry = lease.entry
    guard entry.id == admission.id, entry.idempotencyKey != admission.idempotencyKey else { return }
    guard let store = self.store else { return }
    store.withLock {
      self.change(entry.id, in: store) { $0.renew(entry.id, arguments, key: entry.idempotencyKey) }
    }
  }

  override func stateDidReset() {
    guard case .success(let ground) = self.ground else { return }
    let (name, instance) = (self.plan.name, ground.instance)
    // A history that cannot be cleared now comes back at the next launch, with no other harm.
    Task.detached { try? await ground.outbox.clearHistory(of: name, instance: instance) }
  }
}

/// A mutation that is about to be committed.
struct MutationDraft<Arguments: Sendable>: Sendable {
  var new: NewMutation
  let arguments: Arguments
  let edits: MutationEdits
  /// How often something had been told of the store's mutations when it was made.
  let told: Int
}

/// How a mutation is stored, and what sends it.
struct DurableDeclaration<Arguments: Sendable, Value: Sendable>: Sendable {
  let plan: TypedMutationPlan<Arguments, Value>
  let chain: QueryStore<MutationState<Arguments, Value>>.Fetch
  let edits: OptimisticEdits<Arguments>
  let batching: MutationBatching<Arguments, Value>?

  /// Lets the edits be shown in the stores of the client of a store.
  func declareEdits(of store: QueryStore<MutationState<Arguments, Value>>, replacing: Bool) {
    let context = store.context
    guard let client = context.queryClient, let storage = context.queryStorage,
      let instance = try? QueryIdentity(instancePath: store.path).text
    else { return }
    let handler = self.plan.handler(instance: instance)
    // One without edits is only of interest where it takes the place of one that has some, and as one
    // whose successes change nothing.
    if self.edits.isEmpty, !client.optimistic.isActive {
      return client.optimistic.declarePlain(handler.key)
    }
    client.optimistic.declare(
      TypedEditDeclaration(plan: self.plan, list: self.edits, handler: handler),
      in: storage, of: client, context.outboxRereadPause, replacing: replacing)
  }
}

/// The arguments of a row were coded by a coder that this program does not use for them.
struct OtherCoder: Error, CustomStringConvertible {
  let name: String
  var description: String { "it was coded by another coder, \(self.name)" }
}

/// The arguments of a row have a version that this program cannot read.
struct OtherVersion: Error, CustomStringConvertible {
  let version: Int
  var description: String { "it has version \(self.version), which this program cannot read" }
}

/// A mutation succeeded, and what it returned was of no use, or could not be coded.
struct LostResult: Error, CustomStringConvertible {
  let id: UUID
  var description: String { "The mutation \(self.id) succeeded, and its result was not kept." }
}
