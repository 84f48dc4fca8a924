public import FoundationEssentials

extension QueryContext {
  @usableFromInline
  enum MutationArgumentsKey<Arguments: Sendable>: Key {
    @inlinable static var defaultValue: Arguments? { nil }
  }

  /// Removes the arguments that another store's attempt has left for one of this state.
  mutating func removeMutationArguments<State: QueryStateProtocol>(of type: State.Type) {
    func remove<Mutation: _MutationStateProtocol>(_: Mutation.Type) {
      let key = MutationArgumentsKey<Mutation.Arguments>.self
      if self.contains(key) { self[key] = nil }
    }
    if let type = type as? any _MutationStateProtocol.Type { remove(type) }
  }

  /// How many attempts the history of a mutation shows, as `maxHistory(length:)` says; nil if it does
  /// not.
  @usableFromInline
  var maxMutationHistoryLength: Int? {
    get { self[MaxMutationHistoryLengthKey.self] }
    set { self[MaxMutationHistoryLengthKey.self] = newValue }
  }

  @usableFromInline
  enum MaxMutationHistoryLengthKey: Key {
    @inlinable static var defaultValue: Int? { nil }
  }

  /// How many attempts are in a history after a new one. Durable ones have a limit of their own, which
  /// does not push out those that run.
  @usableFromInline
  var mutationHistoryLength: Int {
    self.maxMutationHistoryLength ?? (self.mutationPlan == nil ? 100 : .max)
  }

  /// The durable mutation of which a task that was scheduled without arguments is another attempt.
  @usableFromInline
  var retriedMutation: UUID? {
    get { self[RetriedMutationKey.self] }
    set { self[RetriedMutationKey.self] = newValue }
  }

  @usableFromInline
  enum RetriedMutationKey: Key {
    @inlinable static var defaultValue: UUID? { nil }
  }

  /// What the mutation of this context depends on.
  @usableFromInline
  var mutationDependencies: [UUID] {
    get { self[MutationDependenciesKey.self] }
    set { self[MutationDependenciesKey.self] = newValue }
  }

  @usableFromInline
  enum MutationDependenciesKey: Key {
    @inlinable static var defaultValue: [UUID] { [] }
  }
}

extension MutationRequest {
  /// Limits the history: of more attempts than this, the oldest are forgotten. They run on.
  ///
  /// Without this, a history has the newest 100 attempts; of durable mutations, the newest 50 and those
  /// that run.
  ///
  /// - Parameter length: How many attempts are remembered, 1 or more.
  /// - Precondition: `length` is greater than 0.
  public func maxHistory(
    length: Int
  ) -> ModifiedQuery<Self, _MaxHistoryLengthModifier<Self>> {
    precondition(
      length > 0,
      "\(self._debugTypeName): \(_tooSmallMutationHistoryLengthMessage(got: length))"
    )
    return self.modifier(_MaxHistoryLengthModifier(length: length))
  }
}

public struct _MaxHistoryLengthModifier<Query: MutationRequest>: _ContextUpdatingQueryModifier {
  let length: Int

  public func setup(context: inout QueryContext) {
    context.maxMutationHistoryLength = self.length
  }
}

package func _tooSmallMutationHistoryLengthMessage(got length: Int) -> String {
  """
  The history of a mutation holds at least its current attempt, so its length must be 1 or more; \
  got \(length).
  """
}
