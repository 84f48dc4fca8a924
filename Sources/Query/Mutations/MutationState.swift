public import FoundationEssentials

/// The state of a mutation: the history of its attempts, and the outcome of the latest one.
///
/// `currentValue`, `error` and `isLoading` are about the latest attempt, or about the value set by
/// hand after it.
public struct MutationState<Arguments: Sendable, Value: Sendable>: Sendable {
  public typealias StateValue = Value?
  public typealias QueryValue = MutationValue<Value>
  public typealias StatusValue = Value

  /// The attempts, the oldest first.
  ///
  /// The newest 100; of durable mutations, the newest 50 and those that run. `maxHistory(length:)` sets
  /// another number. `storage.outbox` has and counts all durable ones that wait.
  public var history: IdentifiedArrayOf<HistoryEntry> { self._history }

  public let initialValue: StateValue

  @usableFromInline var _history = IdentifiedArrayOf<HistoryEntry>()
  @usableFromInline var updates = UpdateRecord()
  @usableFromInline var manualValue: StateValue
  @usableFromInline var manualError: (any Error)?
  /// The tasks of the durable mutations in the history.
  @usableFromInline var durableTasks = [UUID: QueryTaskIdentifier]()
  // The order of the last update of each kind, and not its date: a clock may stand still.
  @usableFromInline var order = UpdateOrder()

  /// Creates the state of a mutation.
  ///
  /// - Parameter initialValue: The value before the first attempt.
  public init(initialValue: StateValue = nil) {
    self.initialValue = initialValue
    self.manualValue = initialValue
  }

  /// Which kind of update came last, as numbers that grow with each.
  @usableFromInline
  struct UpdateOrder: Sendable {
    @usableFromInline var last = 0
    @usableFromInline var attemptValue = 0
    @usableFromInline var attemptError = 0
    @usableFromInline var manualValue = 0
    @usableFromInline var manualError = 0

    @inlinable
    init() {}

    @inlinable
    mutating func next() -> Int {
      self.last += 1
      return self.last
    }
  }
}

// MARK: - Values

extension MutationState {
  public var currentValue: StateValue {
    if self.order.manualValue > 0, self.order.attemptValue <= self.order.manualValue {
      return self.manualValue
    }
    if let latest = self._history.last { return latest.status.resultValue }
    return self.initialValue
  }

  /// The error of the latest attempt, or one set by hand after it. A durable mutation that is saved and
  /// waits has none: see ``queuedCount``.
  public var error: (any Error)? {
    // Of the two kinds of error the later one counts, and hides the other one for good.
    let order = self.order
    let lastValue = max(order.attemptValue, order.manualValue)
    guard max(order.attemptError, order.manualError) > lastValue else { return nil }
    if order.manualError > order.attemptError { return self.manualError }
    let error = self._history.last?.status.resultError
    return error is MutationQueuedError ? nil : error
  }

  /// How many durable mutations of the history are saved and have not ended: they run, or wait to be sent.
  public var queuedCount: Int { self._history.count { $0.isQueued } }

  public var valueUpdateCount: Int { self.updates.valueUpdateCount }
  public var valueLastUpdatedAt: Date? { self.updates.valueLastUpdatedAt }
  public var errorUpdateCount: Int { self.updates.errorUpdateCount }
  public var errorLastUpdatedAt: Date? { self.updates.errorLastUpdatedAt }

  /// Whether the latest attempt is scheduled or running.
  public var isLoading: Bool { self._history.last?.isLoading ?? false }
}

// MARK: - Tasks

extension MutationState: QueryStateProtocol {
  @inlinable
  public mutating func scheduleFetchTask(_ task: inout QueryTask<QueryValue>) {
    let key = QueryContext.MutationArgumentsKey<Arguments>.self
    guard let arguments = task.context[key] ?? self._history.last?.arguments else {
      task.run.report(.mutationWithNoArgumentsOrHistory)
      return
    }
    if task.context[key] == nil, task.context.admittedAttempt == nil {
      task.context.retriedMutation = self._history.last?.mutationID
    }
    task.context[key] = arguments
    let entry = HistoryEntry(
      arguments: arguments,
      startDate: task.context.now,
      fetch: task
    )
    if let admitted = task.context.admittedAttempt {
      self.show(entry, of: admitted, in: task.context)
    } else {
      self._history.append(entry)
    }
    if self._history.count > task.context.mutationHistoryLength { self.forget(at: 0) }
  }

  @inlinable
  public mutating func finishFetchTask(_ task: QueryTask<QueryValue>) {
    guard self._history[id: task.id]?.currentResult != nil else {
      // It was dropped before it ran.
      self.dropUnrun(task)
      return
    }
    let isDurable = self._history.modify(id: task.id) { entry in
      entry.isLoading = false
      return entry.durable != nil
    }
    if isDurable == true { self.forgetIfOld(task.id, in: task.context) }
  }

  public mutating func reset(using context: QueryContext) {
    for entry in self._history { entry.fetch.cancel() }
    self = Self(initialValue: self.initialValue)
  }

  /// A mutation is a write, so it never runs unasked.
  @inlinable
  public static var _isFetchedAutomatically: Bool { false }

  /// No attempt is a duplicate: two writes are two writes.
  public static func _isDuplicate(_ running: QueryContext, _ new: QueryContext) -> Bool { false }
}

// MARK: - Updates

extension MutationState {
  @inlinable
  public mutating func update(
    with result: Result<StateValue, any Error>,
    using context: QueryContext
  ) {
    let date = context.now
    switch result {
    case .success(let value):
      self.manualValue = value
      self.order.manualValue = self.order.next()
      self.updates.recordValue(at: date)
    case .failure(let error):
      self.manualError = error
      self.order.manualError = self.order.next()
      self.updates.recordError(error, at: date)
    }
  }

  @inlinable
  public mutating func update(
    with result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) {
    let date = task.context.now
    let update = self.order.next()
    // Only the latest attempt counts, and only if the history still has it.
    let isLatest = self._history.last?.id == task.id
    let isKnown: Void? = self._history.modify(id: task.id) { entry in
      entry._currentResult = result.map(\.returnValue)
      entry._lastUpdatedAt = date
      entry.unrecordedUpdate = isLatest ? nil : update
    }
    if isLatest, isKnown != nil {
      self.record(result.map(\.returnValue), at: date, as: update)
    }
  }

  /// Records an update of the latest attempt.
  ///
  /// - Parameters:
  ///   - result: What it has yielded or ended with.
  ///   - date: When.
  ///   - update: Its place in the order of updates.
  @inlinable
  mutating func record(_ result: Result<Value, any Error>, at date: Date, as update: Int) {
    switch result {
    case .success:
      self.order.attemptValue = update
      self.updates.recordValue(at: max(date, self.updates.valueLastUpdatedAt ?? date))
    // It is saved and will be sent.
    case .failure(is MutationQueuedError): break
    case .failure(let error):
      self.order.attemptError = update
      self.updates.recordError(error, at: max(date, self.updates.errorLastUpdatedAt ?? date))
    }
  }

  /// Records what the attempt ended with that is the latest one again, if a later one was scheduled
  /// then, which is gone.
  mutating func recordLatest() {
    guard let latest = self._history.last, !latest.isLoading,
      let update = latest.unrecordedUpdate, let result = latest.currentResult,
      let date = latest.lastUpdatedAt
    else { return }
    self._history.modify(id: latest.id) { $0.unrecordedUpdate = nil }
    self.record(result, at: date, as: update)
  }
}

extension MutationState {
  /// What the attempt has yielded.
  @inlinable
  public func _replacedValue(
    by result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) -> StateValue? {
    try? self._history[id: task.id]?.currentResult?.get()
  }
}

// MARK: - Protocol

/// What the methods of a mutation's store know of its state.
public protocol _MutationStateProtocol<Arguments, Value>: QueryStateProtocol
where StateValue == Value?, StatusValue == Value, QueryValue == MutationValue<Value> {
  /// What an attempt is given.
  associatedtype Arguments: Sendable
  /// What a successful attempt returns.
  associatedtype Value: Sendable

  /// This state as what it is.
  var _mutationState: MutationState<Arguments, Value> { get }
}

extension MutationState: _MutationStateProtocol {
  public var _mutationState: MutationState<Arguments, Value> { self }
}
