public import FoundationEssentials

/// Durable mutations that are committed together: see ``QueryClient/enqueue(_:)``.
public struct MutationBatch {
  /// A mutation, and what shows it once it is committed.
  fileprivate struct Item {
    let new: NewMutation
    let show: @Sendable (EnqueuedMutation, OptimisticIndex.Enqueueing?) -> Void
  }

  fileprivate var items = [Item]()
  private let client: QueryClient
  private let storage: any QueryStorage

  fileprivate init(_ client: QueryClient, _ storage: any QueryStorage) {
    (self.client, self.storage) = (client, storage)
  }

  /// Adds a mutation.
  ///
  /// - Parameters:
  ///   - store: The store of a durable mutation, of the client that commits the batch.
  ///   - arguments: What the mutation is given.
  ///   - dependencies: The durable mutations that must have succeeded before this one is sent: any
  ///     earlier one, of this batch too.
  ///   - id: As of ``QueryStore/enqueue(with:dependsOn:id:after:)``.
  ///   - delay: As of ``QueryStore/enqueue(with:dependsOn:id:after:)``.
  /// - Returns: Its ticket, which is of use when the batch is committed.
  /// - Throws: ``MutationDeclarationError``; ``QueryIdentityError``; what the coder throws.
  @discardableResult
  public mutating func add<State: _MutationStateProtocol>(
    _ store: QueryStore<State>,
    with arguments: State.Arguments,
    dependsOn dependencies: [UUID] = [],
    id: UUID? = nil,
    after delay: Duration? = nil
  ) throws -> MutationTicket<State.Value> {
    let (durable, draft) = try store.draft(arguments, dependencies, id, delay)
    guard store.context.queryStorage?.slots === self.storage.slots else {
      throw MutationDeclarationError.otherStorage(name: durable.plan.name)
    }
    self.items.append(
      Item(new: draft.new) { enqueued, before in
        durable.warnOfWaiting(enqueued)
        durable.show(enqueued.entry, of: draft)
        if let before, let index = durable.activeIndex {
          durable.showEdits(of: draft, enqueued, since: before, index)
        }
      })
    return try durable.ticket(draft.new.id, draft.new.idempotencyKey)
  }

  /// Adds a mutation that takes no arguments, as one that takes some.
  @discardableResult
  public mutating func add<State: _MutationStateProtocol>(
    _ store: QueryStore<State>,
    dependsOn dependencies: [UUID] = [],
    id: UUID? = nil,
    after delay: Duration? = nil
  ) throws -> MutationTicket<State.Value> where State.Arguments == Void {
    try self.add(store, with: (), dependsOn: dependencies, id: id, after: delay)
  }

  /// Adds a mutation by its request, through the client's store for it, as one that is added by its store.
  @discardableResult
  public mutating func add<Mutation: MutationRequest>(
    _ mutation: Mutation,
    with arguments: Mutation.Arguments,
    dependsOn dependencies: [UUID] = [],
    id: UUID? = nil,
    after delay: Duration? = nil
  ) throws -> MutationTicket<Mutation.ReturnValue> {
    try self.add(
      self.client.store(for: mutation), with: arguments, dependsOn: dependencies, id: id,
      after: delay)
  }
}

extension QueryClient {
  /// Commits several durable mutations together: all of them, or none.
  ///
  /// ```swift
  /// try await client.enqueue { batch in
  ///   let inspection = try batch.add(create, with: form)
  ///   for photo in photos { try batch.add(upload, with: photo, dependsOn: [inspection.id]) }
  /// }
  /// ```
  /// - Parameter body: Adds the mutations, in the order in which they are sent. It does not wait, and
  ///   nothing is committed if it throws.
  /// - Returns: What the closure returned, when all are on disk.
  /// - Throws: What the closure throws; ``StorageError``; ``OutboxError``; ``MutationBodyError``.
  ///   Nothing is saved then.
  @discardableResult
  public func enqueue<Result>(
    _ body: (inout MutationBatch) throws -> Result
  ) async throws -> Result {
    guard let storage = self.defaultContext.queryStorage else {
      throw StorageError(
        operation: "enqueue", code: .cannotOpen,
        message: "the client has no storage; create it with QueryClient(storage:)")
    }
    var batch = MutationBatch(self, storage)
    let result = try body(&batch)
    let index = self.optimistic.isActive ? self.optimistic : nil
    let before = index?.willEnqueue()
    defer { index?.didEndEnqueueing() }
    let enqueued = try await storage.outbox.enqueue(batch.items.map(\.new))
    for (item, enqueued) in zip(batch.items, enqueued) where !enqueued.isOld {
      item.show(enqueued, before)
    }
    return result
  }
}
