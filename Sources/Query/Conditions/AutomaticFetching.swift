extension QueryContext {
  /// When a store fetches by itself: at its first subscription, and for its controllers. Never by
  /// default; a ``QueryClient`` sets it to always for queries.
  public var enableAutomaticFetchingCondition: any FetchCondition {
    get { self[EnableAutomaticFetchingConditionKey.self] }
    set { self[EnableAutomaticFetchingConditionKey.self] = newValue }
  }

  private enum EnableAutomaticFetchingConditionKey: Key {
    static var defaultValue: any FetchCondition { .always(false) }
  }
}

extension QueryRequest {
  /// Lets the stores of this query fetch by themselves while a condition is satisfied.
  ///
  /// - Parameter condition: The condition.
  public func enableAutomaticFetching<Condition: FetchCondition>(
    onlyWhen condition: Condition
  ) -> ModifiedQuery<Self, _EnableAutomaticFetchingModifier<Self, Condition>> {
    self.modifier(_EnableAutomaticFetchingModifier(condition: condition))
  }

  /// Keeps the stores of this query from fetching by themselves.
  ///
  /// - Parameter isDisabled: Whether to disable it; `false` always allows it.
  public func disableAutomaticFetching(
    _ isDisabled: Bool = true
  ) -> ModifiedQuery<Self, _EnableAutomaticFetchingModifier<Self, AlwaysCondition>> {
    self.enableAutomaticFetching(onlyWhen: .always(!isDisabled))
  }
}

public struct _EnableAutomaticFetchingModifier<Query: QueryRequest, Condition: FetchCondition>:
  _ContextUpdatingQueryModifier
{
  let condition: Condition

  public func setup(context: inout QueryContext) {
    context.enableAutomaticFetchingCondition = self.condition
  }
}
