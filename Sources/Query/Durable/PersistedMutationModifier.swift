extension MutationRequest where Arguments: Codable, ReturnValue: Codable {
  /// Makes this mutation durable: it is on disk before it is sent, and is sent again, by this program or
  /// a later launch, until its server has acknowledged it.
  ///
  /// ```swift
  /// let create = client.store(for: CreateNote().persisted(as: "create-note"))
  /// try await create.mutate(with: note)   // on disk before it is sent
  /// ```
  /// Delivery is at least once: see ``MutationAttempt``. A mutation that could not be sent stays in the
  /// storage's outbox, and `mutate` throws ``MutationQueuedError``; a `MutationReplayer` of the module
  /// `QueryReplay` sends it when the network is back. Without a storage in the context, `mutate` throws
  /// ``StorageError``: a mutation declared durable is never sent undurably.
  ///
  /// Good style is a constant path, with everything else in the arguments. What the request itself
  /// holds is stored too, in its path: only a request of the same name and path sends a row.
  ///
  /// - Parameters:
  ///   - name: The mutation's name on disk, which outlives renamed types: 1 to 200 bytes, not beginning
  ///     with `http/`.
  ///   - options: How it is stored and sent.
  public func persisted(
    as name: String,
    _ options: MutationPersistenceOptions<Arguments> = MutationPersistenceOptions()
  ) -> ModifiedQuery<Self, _PersistedMutationModifier<Self>> {
    self.modifier(_PersistedMutationModifier(name: name, options: options, codec: .coded))
  }

  /// As ``persisted(as:_:)``, for the library's own mutations, whose names begin with `http/`.
  package func persisted(
    reservedAs name: String,
    _ options: MutationPersistenceOptions<Arguments>
  ) -> ModifiedQuery<Self, _PersistedMutationModifier<Self>> {
    self.modifier(
      _PersistedMutationModifier(name: name, options: options, codec: .coded, isReserved: true))
  }
}

extension MutationRequest where Arguments == Void, ReturnValue: Codable {
  /// Makes this mutation durable. See the overload for arguments that are `Codable`.
  public func persisted(
    as name: String,
    _ options: MutationPersistenceOptions<Void> = MutationPersistenceOptions()
  ) -> ModifiedQuery<Self, _PersistedMutationModifier<Self>> {
    self.modifier(_PersistedMutationModifier(name: name, options: options, codec: .coded))
  }
}

extension MutationRequest where Arguments: Codable, ReturnValue == Void {
  /// Makes this mutation durable. See the overload for a result that is `Codable`.
  public func persisted(
    as name: String,
    _ options: MutationPersistenceOptions<Arguments> = MutationPersistenceOptions()
  ) -> ModifiedQuery<Self, _PersistedMutationModifier<Self>> {
    self.modifier(_PersistedMutationModifier(name: name, options: options, codec: .coded))
  }
}

extension MutationRequest where Arguments == Void, ReturnValue == Void {
  /// Makes this mutation durable. See the overload for arguments and a result that are `Codable`.
  public func persisted(
    as name: String,
    _ options: MutationPersistenceOptions<Void> = MutationPersistenceOptions()
  ) -> ModifiedQuery<Self, _PersistedMutationModifier<Self>> {
    self.modifier(_PersistedMutationModifier(name: name, options: options, codec: .coded))
  }
}

public struct _PersistedMutationModifier<Query: MutationRequest>: _ContextUpdatingQueryModifier {
  let plan: MutationPlan

  init(
    name: String,
    options: MutationPersistenceOptions<Query.Arguments>,
    codec: MutationCodec<Query.Arguments, Query.ReturnValue>,
    isReserved: Bool = false
  ) {
    self.plan = TypedMutationPlan(
      name: name, options: options, codec: codec, isReserved: isReserved)
  }

  public func setup(context: inout QueryContext) { context.mutationPlan = self.plan }
}
