/// How short memory is.
public struct MemoryPressure: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Memory is not short.
  public static let normal = MemoryPressure(rawValue: 1)
  /// Some programs wait for memory.
  public static let warning = MemoryPressure(rawValue: 2)
  /// All programs wait for memory.
  public static let critical = MemoryPressure(rawValue: 4)

  /// When a store without subscribers leaves the memory by default.
  public static let defaultEvictable: MemoryPressure = [.warning, .critical]
  /// Every level.
  public static let all: MemoryPressure = [.normal, .warning, .critical]
}

/// What tells that memory is short.
public protocol MemoryPressureSource {
  /// Calls a handler whenever the pressure is felt.
  ///
  /// - Parameter handler: Takes the pressure.
  /// - Returns: The observation, which ends when it is cancelled.
  func subscribe(
    with handler: @escaping @Sendable (MemoryPressure) -> Void
  ) -> QuerySubscription
}

extension QueryContext {
  /// At which pressures a store without subscribers leaves the memory of its client. Warning and
  /// critical by default.
  public var evictableMemoryPressure: MemoryPressure {
    get { self[EvictableMemoryPressureKey.self] }
    set { self[EvictableMemoryPressureKey.self] = newValue }
  }

  private enum EvictableMemoryPressureKey: Key {
    static let defaultValue = MemoryPressure.defaultEvictable
  }
}

extension QueryRequest {
  /// Sets at which pressures a store of this query, without subscribers, leaves the memory of its
  /// client.
  ///
  /// - Parameter pressure: The pressures; an empty set keeps the store.
  public func evictWhen(
    pressure: MemoryPressure
  ) -> ModifiedQuery<Self, _EvictWhenPressureModifier<Self>> {
    self.modifier(_EvictWhenPressureModifier(pressure: pressure))
  }
}

public struct _EvictWhenPressureModifier<Query: QueryRequest>: _ContextUpdatingQueryModifier {
  let pressure: MemoryPressure

  public func setup(context: inout QueryContext) {
    context.evictableMemoryPressure = self.pressure
  }
}
