extension InfiniteQueryState: OptimisticQueryState {
  /// The pages before and after these stay those of the last fetch.
  public mutating func show(_ value: StateValue) { self._currentValue = value }

  /// The next page is asked for by the last element of a page, which an edit may have put where the server
  /// does not have it.
  public static var _takesAcknowledgedEdits: Bool { false }
}
