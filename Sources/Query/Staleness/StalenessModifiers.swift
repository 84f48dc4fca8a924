public import FoundationEssentials

extension QueryRequest {
  /// Makes the value stale if a predicate says so.
  ///
  /// Staleness decides about automatic fetches alone: `fetch()` fetches in any case. Of several
  /// staleness modifiers one is enough to make the value stale.
  ///
  /// - Parameter predicate: Whether a state is stale.
  public func staleWhen(
    predicate: @escaping @Sendable (State, QueryContext) -> Bool
  ) -> ModifiedQuery<Self, _StaleWhenModifier<Self>> {
    self.modifier(
      _StaleWhenModifier { state, context in
        (state.base as? State).map { predicate($0, context) } ?? false
      }
    )
  }

  /// Makes the value stale while a condition is satisfied.
  ///
  /// - Parameter condition: The condition.
  public func staleWhen(
    condition: some FetchCondition
  ) -> ModifiedQuery<Self, _StaleWhenModifier<Self>> {
    self.modifier(_StaleWhenModifier { _, context in condition.isSatisfied(in: context) })
  }

  /// Makes the value stale while it is nil.
  public func staleWhenNoValue<Value>() -> ModifiedQuery<Self, _StaleWhenModifier<Self>>
  where State.StateValue == Value? {
    self.staleWhen { state, _ in state.currentValue == nil }
  }

  /// Makes the value stale when it was never updated, or when its last update is longer ago, or lies
  /// in the future.
  ///
  /// - Parameter age: The age, by the clock of the context, that is not yet stale.
  /// - Precondition: `age` is not negative.
  public func stale(after age: Duration) -> ModifiedQuery<Self, _StaleWhenModifier<Self>> {
    self.stale(after: age.seconds)
  }

  /// Makes the value stale when it was never updated, or when its last update is longer ago, or lies
  /// in the future.
  ///
  /// - Parameter seconds: The age, in seconds by the clock of the context, that is not yet stale.
  /// - Precondition: `seconds` is a number, and not negative.
  public func stale(
    after seconds: TimeInterval
  ) -> ModifiedQuery<Self, _StaleWhenModifier<Self>> {
    precondition(
      seconds >= 0,
      "\(self._debugTypeName): stale(after:) takes a number of seconds that is not negative; "
        + "got \(seconds)."
    )
    return self.modifier(
      _StaleWhenModifier(isOfAge: true) { state, context in
        StaleWhenRevalidateCondition.isOlder(state, than: seconds, in: context)
      }
    )
  }
}

public struct _StaleWhenModifier<Query: QueryRequest>: _ContextUpdatingQueryModifier {
  let isOfAge: Bool
  let predicate: @Sendable (OpaqueQueryState, QueryContext) -> Bool

  init(
    isOfAge: Bool = false,
    _ predicate: @escaping @Sendable (OpaqueQueryState, QueryContext) -> Bool
  ) {
    self.isOfAge = isOfAge
    self.predicate = predicate
  }

  public func setup(context: inout QueryContext) {
    context.staleWhenRevalidateCondition.add(isOfAge: self.isOfAge, self.predicate)
  }
}
