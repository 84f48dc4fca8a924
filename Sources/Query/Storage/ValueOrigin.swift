public import FoundationEssentials

/// The source of a store's value.
public enum ValueOrigin: Hashable, Sendable {
  /// It is what the store started with.
  case initial
  /// An earlier launch, or another process, has stored it. The date is that of the value, by the
  /// clock of its query's context.
  case storage(storedAt: Date)
  /// A fetch has produced it.
  case network
  /// It was set by hand, or by a controller.
  case local
}
