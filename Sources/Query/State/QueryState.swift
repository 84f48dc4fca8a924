public import FoundationEssentials

/// The state of an ordinary query.
///
/// `StateValue` is the query's value, or an optional of it if there is no default.
public struct QueryState<StateValue: Sendable, QueryValue: Sendable>: QueryStateProtocol {
  public typealias StatusValue = QueryValue

  @usableFromInline var _currentValue: StateValue
  @usableFromInline var _updates = UpdateRecord()
  @usableFromInline var _activeTasks = IdentifiedArrayOf<QueryTask<QueryValue>>()
  // A fetched value is the state's value or its payload; only the initialisers know which.
  @usableFromInline let _stateValue: @Sendable (QueryValue) -> StateValue

  public let initialValue: StateValue

  /// Creates the state of a query that may have no value yet.
  ///
  /// - Parameter initialValue: The value before the first fetch.
  @inlinable
  public init(initialValue: StateValue) where StateValue == QueryValue? {
    self._currentValue = initialValue
    self.initialValue = initialValue
    self._stateValue = { $0 }
  }

  /// Creates the state of a query that always has a value.
  ///
  /// - Parameter initialValue: The value before the first fetch.
  @inlinable
  public init(initialValue: StateValue) where StateValue == QueryValue {
    self._currentValue = initialValue
    self.initialValue = initialValue
    self._stateValue = { $0 }
  }
}

// MARK: - Values

extension QueryState {
  @inlinable
  public var currentValue: StateValue { self._currentValue }

  @inlinable
  public var valueUpdateCount: Int { self._updates.valueUpdateCount }

  @inlinable
  public var valueLastUpdatedAt: Date? { self._updates.valueLastUpdatedAt }

  @inlinable
  public var error: (any Error)? { self._updates.error }

  @inlinable
  public var errorUpdateCount: Int { self._updates.errorUpdateCount }

  @inlinable
  public var errorLastUpdatedAt: Date? { self._updates.errorLastUpdatedAt }

  @inlinable
  public var isInvalidated: Bool { self._updates.isInvalidated }

  /// The fetches that are scheduled or running, the oldest first.
  @inlinable
  public var activeTasks: IdentifiedArrayOf<QueryTask<QueryValue>> { self._activeTasks }

  @inlinable
  public var isLoading: Bool { !self._activeTasks.isEmpty }

  /// All fetches of a query do the same.
  @inlinable
  public static var _isDeduplicatedByClients: Bool { true }
}

// MARK: - Updates

extension QueryState {
  @inlinable
  public mutating func scheduleFetchTask(_ task: inout QueryTask<QueryValue>) {
    self._activeTasks.append(task)
  }

  public mutating func reset(using context: QueryContext) {
    for task in self._activeTasks { task.cancel() }
    self._activeTasks = []
    self._updates = UpdateRecord()
    self._currentValue = self.initialValue
  }

  public mutating func invalidate() { self._updates.isInvalidated = true }

  @inlinable
  public mutating func update(
    with result: Result<StateValue, any Error>,
    using context: QueryContext
  ) {
    switch result {
    case .success(let value):
      self._currentValue = value
      self._updates.recordValue(at: context.now)
    case .failure(let error):
      self._updates.recordError(error, at: context.now)
    }
  }

  @inlinable
  public mutating func update(
    with result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) {
    self.update(with: result.map(self._stateValue), using: task.context)
  }

  public mutating func confirmValue(using context: QueryContext) {
    self._updates.recordValue(at: context.now)
  }

  public static var _isStoredAsConfirmed: Bool { true }

  @inlinable
  public static var _isObservedByParts: Bool { true }

  public var _fetchedValue: QueryValue? {
    guard self._updates.valueUpdateCount > 0 else { return nil }
    return Self.fetchedValue(of: self._currentValue)
  }

  /// What a fetch would have returned for a value; nil if it is none.
  static func fetchedValue(of value: StateValue) -> QueryValue? {
    // The initialisers allow these two, which the compiler cannot know of here.
    if StateValue.self == QueryValue.self { return unsafeBitCast(value, to: QueryValue.self) }
    return unsafeBitCast(value, to: QueryValue?.self)
  }

  @inlinable
  public mutating func finishFetchTask(_ task: QueryTask<QueryValue>) {
    self._activeTasks.remove(id: task.id)
  }
}
