/// A state over whose value the edits of mutations can be laid. ``QueryState`` and
/// ``InfiniteQueryState`` are; a paradigm of one's own may be.
public protocol OptimisticQueryState: QueryStateProtocol {
  /// Takes a value to show in the place of its own. Counts, dates, errors and tasks stay.
  ///
  /// - Parameter value: The value with the edits laid over it.
  mutating func show(_ value: StateValue)

  /// Whether acknowledged edits become a part of the value before a fetch has it.
  static var _takesAcknowledgedEdits: Bool { get }
}

extension OptimisticQueryState {
  public static var _takesAcknowledgedEdits: Bool { true }
}

extension QueryState: OptimisticQueryState {
  public mutating func show(_ value: StateValue) { self._currentValue = value }
}
