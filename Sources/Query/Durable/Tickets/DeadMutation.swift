public import FoundationEssentials

/// A mutation of a store that is dead: it is kept for a person or the application to decide on.
public struct DeadMutation<Arguments: Sendable>: Sendable, Identifiable {
  /// The mutation's identifier.
  public let id: UUID
  /// What the mutation was given; nil if this program cannot read it.
  public let arguments: Arguments?
  /// Why it is dead.
  public let reason: MutationDeadReason
  /// What the last attempt failed with; nil if there was no attempt.
  public let lastError: RestoredError?
  /// The beginning of the server's last answer, as of ``HTTPStatusError/body``: at most 4 KiB.
  public let response: Data?
  /// How many attempts were begun.
  public let attempts: Int
  /// When it was enqueued, by the wall clock.
  public let createdAt: Date
}

extension QueryStore where State: _MutationStateProtocol {
  /// The dead mutations of this store, in the order of enqueueing: what the server said to each, and
  /// what the user had entered.
  ///
  /// ```swift
  /// for dead in try store.dead {
  ///   guard let note = dead.arguments, let corrected = await ask(note, dead.response) else { continue }
  ///   try await store.retry(dead.id, with: corrected)
  /// }
  /// ```
  /// - Throws: ``MutationDeclarationError`` if the mutation is not durable; ``QueryIdentityError``;
  ///   ``StorageError``.
  /// - Complexity: O(*n*) in the number of dead mutations of the storage.
  public var dead: [DeadMutation<State.Arguments>] {
    get throws {
      let durable = try self.requireDurable()
      let ground = try durable.ground.get()
      return try ground.outbox.entries(in: .dead)
        .filter { $0.name == durable.plan.name && $0.instance == ground.instance }
        .map { entry in
          let response = try ground.outbox.attempts(of: entry.id).last { $0.response != nil }
          return DeadMutation(
            id: entry.id,
            arguments: try? durable.arguments(
              entry.arguments, version: entry.version, coder: entry.coder),
            reason: entry.deadReason ?? .rejected, lastError: entry.lastError,
            response: response?.response, attempts: entry.attempts, createdAt: entry.createdAt)
        }
    }
  }

  /// Makes a mutation of this store live again with other arguments, under a new key.
  ///
  /// - Parameters:
  ///   - id: The mutation, which must not be running.
  ///   - arguments: What it is given now. Its files stay those that it was enqueued with.
  /// - Returns: Whether mutations behind it in its lane have run, so that it is out of order.
  /// - Throws: ``OutboxError``; ``StorageError``; ``MutationDeclarationError``; what the coder throws.
  @discardableResult
  public func retry(_ id: UUID, with arguments: State.Arguments) async throws -> Bool {
    let durable = try self.requireDurable()
    let ground = try durable.ground.get()
    let options = durable.plan.options
    guard let entry = try ground.outbox.entry(id), entry.name == durable.plan.name,
      entry.instance == ground.instance
    else { throw OutboxError.unknown(id) }
    guard entry.coder == options.coder.name else {
      throw OutboxError.otherCoder(id, name: entry.coder)
    }
    let data = try durable.plan.codec.encodeArguments(arguments, options.coder)
    let isOvertaken = try await ground.outbox.retry(
      id, withArguments: data, version: options.version,
      editedPaths: durable.edits.placed(with: arguments).paths)
    // Its server may have what was sent before, under the old key.
    if entry.maybeApplied,
      let old = try? durable.arguments(entry.arguments, version: entry.version, coder: entry.coder)
    {
      let context = self.context
      for path in durable.changedPaths(with: old, in: context) {
        context.queryClient?.invalidate(matching: path)
      }
    }
    return isOvertaken
  }
}
