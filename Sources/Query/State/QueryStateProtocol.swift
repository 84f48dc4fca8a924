public import FoundationEssentials

/// The state that a store keeps for a request: its value, its error, and its running tasks.
///
/// ``QueryState``, ``InfiniteQueryState`` and ``MutationState`` are the library's. A custom
/// paradigm brings a state of its own. The store calls every mutating requirement under its lock,
/// so a state needs no lock; a state must not call back into a store.
public protocol QueryStateProtocol<StateValue, QueryValue>: Sendable {
  /// What ``currentValue`` holds.
  associatedtype StateValue: Sendable
  /// What a fetch produces.
  associatedtype QueryValue: Sendable
  /// What a successful `status` holds.
  associatedtype StatusValue: Sendable

  /// The value at hand.
  var currentValue: StateValue { get }
  /// The value that the state started with, and goes back to at a reset.
  var initialValue: StateValue { get }
  /// How many successful updates there were since the last reset.
  var valueUpdateCount: Int { get }
  /// When the value was last updated, by the clock of the context.
  var valueLastUpdatedAt: Date? { get }
  /// Whether any fetch is scheduled or running.
  var isLoading: Bool { get }
  /// The error of the last update, or `nil` if it succeeded.
  var error: (any Error)? { get }
  /// How many failed updates there were since the last reset.
  var errorUpdateCount: Int { get }
  /// When an update last failed, by the clock of the context.
  var errorLastUpdatedAt: Date? { get }
  /// Whether the value is stale whatever its age, until a newer one comes. False for a state that does
  /// not implement it.
  var isInvalidated: Bool { get }

  /// Records a fetch that will run. The task may be edited before its caller gets it: its context,
  /// and the tasks that it waits for.
  ///
  /// - Parameter task: The task of the fetch.
  mutating func scheduleFetchTask(_ task: inout QueryTask<QueryValue>)

  /// Cancels the tasks of this state and goes back to a fresh one.
  ///
  /// - Parameter context: The context of the reset.
  mutating func reset(using context: QueryContext)

  /// Makes the value stale whatever its age, until the next successful update. Does nothing for a
  /// state that does not implement it.
  ///
  /// The store calls it again after the update of a fetch that began before an invalidation.
  mutating func invalidate()

  /// Takes a result that was set by hand or yielded by a controller.
  ///
  /// - Parameters:
  ///   - result: The new value or error.
  ///   - context: Supplies the clock.
  mutating func update(with result: Result<StateValue, any Error>, using context: QueryContext)

  /// Takes a result of a fetch, final or not.
  ///
  /// - Parameters:
  ///   - result: What the fetch produced.
  ///   - task: The task of the fetch; its context supplies the clock.
  mutating func update(
    with result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  )

  /// Records that the value at hand is right: its date is the present, error and invalidation are gone,
  /// and it counts as an update. By default it is set once more.
  ///
  /// - Parameter context: Supplies the clock.
  mutating func confirmValue(using context: QueryContext)

  /// What a fetch would have returned for the value at hand; nil if it never had one. The value itself
  /// by default, if that is of the type.
  var _fetchedValue: QueryValue? { get }

  /// Whether ``confirmValue(using:)`` changes nothing of what is stored as the value. False by default.
  static var _isStoredAsConfirmed: Bool { get }

  /// Whether value and error change by nothing but updates, resets and what a store restores or shows.
  /// Then Observation tells their readers of no other change. False by default.
  static var _isObservedByParts: Bool { get }

  /// The page of an id; nil for a state without pages.
  func _pageValue(_ key: _PageKey) -> (any Sendable)?

  /// The pages that a fetch has brought, which the state has not taken yet; nil for a state without
  /// pages.
  func _fetchedPages(of value: QueryValue) -> _FetchedPages?

  /// Whether a fetch that ended with this has fetched nothing, and the state keeps what it has.
  static func _isNothing(_ value: QueryValue) -> Bool

  /// Keeps what a value that a fetch yields is about to replace, if it is the beginning of more. An update
  /// follows.
  ///
  /// - Returns: Whether it is.
  mutating func _keepReplaced(by value: QueryValue, for task: QueryTask<QueryValue>) -> Bool

  /// Puts back what the yields of a fetch have replaced, since it has failed before it brought the rest.
  ///
  /// - Returns: Whether there was something, and nothing else has changed the value since.
  mutating func _putBackReplaced(for task: QueryTask<QueryValue>) -> Bool

  /// Records that a fetch ended. Its final update came before, unless it never ran.
  ///
  /// - Parameter task: The task of the fetch.
  mutating func finishFetchTask(_ task: QueryTask<QueryValue>)

  /// The value that a result of a fetch is about to replace; nil if it replaces none. The store
  /// releases it after the change, since the `deinit` of a value may read the store.
  ///
  /// - Parameters:
  ///   - result: What the fetch produced.
  ///   - task: The task of the fetch.
  func _replacedValue(
    by result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) -> StateValue?

  /// Whether a fetch in one context would do the work of a fetch in another one;
  /// ``QueryRequest/deduplicated()`` uses it.
  ///
  /// - Parameters:
  ///   - running: The context of a fetch that is under way.
  ///   - new: The context of the fetch that is about to start.
  static func _isDuplicate(_ running: QueryContext, _ new: QueryContext) -> Bool

  /// Whether a fetch adds to the value and leaves the rest of it as it is, so that the value stays as old
  /// as its oldest part. False for a fetch that replaces it.
  ///
  /// - Parameter context: The context of the fetch.
  static func _addsToValue(in context: QueryContext) -> Bool

  /// Whether a client may fetch a store of this state unasked. False if a fetch is a write.
  static var _isFetchedAutomatically: Bool { get }

  /// Whether a client lets overlapping fetches of this state share their work unasked. Only if
  /// ``_isDuplicate(_:_:)`` knows everything that distinguishes two fetches, which it cannot for a
  /// paradigm that puts values of its own into the context.
  static var _isDeduplicatedByClients: Bool { get }
}

extension QueryStateProtocol {
  public var isInvalidated: Bool { false }

  public mutating func invalidate() {}

  public mutating func confirmValue(using context: QueryContext) {
    self.update(with: .success(self.currentValue), using: context)
  }

  public var _fetchedValue: QueryValue? {
    self.valueUpdateCount > 0 ? self.currentValue as? QueryValue : nil
  }

  public static var _isStoredAsConfirmed: Bool { false }

  @inlinable
  public static var _isObservedByParts: Bool { false }

  public func _pageValue(_ key: _PageKey) -> (any Sendable)? { nil }

  public func _fetchedPages(of value: QueryValue) -> _FetchedPages? { nil }

  /// Each value is whole.
  @inlinable
  public mutating func _keepReplaced(by value: QueryValue, for task: QueryTask<QueryValue>) -> Bool
  {
    false
  }

  @inlinable
  public mutating func _putBackReplaced(for task: QueryTask<QueryValue>) -> Bool { false }

  /// Each fetch brings a value.
  @inlinable
  public static func _isNothing(_ value: QueryValue) -> Bool { false }

  /// The value at hand.
  @inlinable
  public func _replacedValue(
    by result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) -> StateValue? {
    self.currentValue
  }

  /// Every overlapping fetch is a duplicate.
  @inlinable
  public static func _isDuplicate(_ running: QueryContext, _ new: QueryContext) -> Bool { true }

  /// A fetch replaces the value.
  public static func _addsToValue(in context: QueryContext) -> Bool { false }

  /// Fetches are no writes.
  @inlinable
  public static var _isFetchedAutomatically: Bool { true }

  /// By default only explicitly requested work is shared.
  @inlinable
  public static var _isDeduplicatedByClients: Bool { false }
}

// MARK: - Status

extension QueryStateProtocol where StateValue == StatusValue {
  /// Loading; idle if nothing was ever updated; otherwise the error or the value.
  public var status: QueryStatus<StatusValue> {
    self.resolvedStatus { .result(.success(self.currentValue)) }
  }
}

extension QueryStateProtocol where StateValue == StatusValue? {
  /// Loading; idle if nothing was ever updated; otherwise the error or the value. An absent value
  /// is idle.
  public var status: QueryStatus<StatusValue> {
    self.resolvedStatus { self.currentValue.map { .result(.success($0)) } ?? .idle }
  }
}

extension QueryStateProtocol {
  private func resolvedStatus(
    success: () -> QueryStatus<StatusValue>
  ) -> QueryStatus<StatusValue> {
    if self.isLoading { return .loading }
    if self.valueUpdateCount == 0 && self.errorUpdateCount == 0 { return .idle }
    if let error = self.error { return .result(.failure(error)) }
    return success()
  }
}
