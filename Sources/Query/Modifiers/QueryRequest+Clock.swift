extension QueryRequest {
  /// Sets the clock that dates and ages come from.
  ///
  /// - Parameter clock: The clock.
  @inlinable
  public func clock<C: QueryClock>(_ clock: C) -> ModifiedQuery<Self, _ClockModifier<Self, C>> {
    self.modifier(_ClockModifier(clock: clock))
  }
}

public struct _ClockModifier<Query: QueryRequest, C: QueryClock>: _ContextUpdatingQueryModifier {
  @usableFromInline let clock: C

  @inlinable
  init(clock: C) { self.clock = clock }

  @inlinable
  public func setup(context: inout QueryContext) { context.queryClock = self.clock }
}
