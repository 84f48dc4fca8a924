extension InfiniteQueryState: OptimisticQueryState {
  /// The pages before and after these stay those of the last fetch.
  public mutating func show(_ value: StateValue) { self._currentValue = value }
}
