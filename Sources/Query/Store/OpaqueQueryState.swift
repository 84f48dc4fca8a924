public import FoundationEssentials

/// A state without its type.
public struct OpaqueQueryState: QueryStateProtocol {
  public typealias StateValue = (any Sendable)?
  public typealias QueryValue = any Sendable
  public typealias StatusValue = any Sendable

  /// The state, with its type.
  public private(set) var base: any QueryStateProtocol

  /// Takes the type of a state away.
  ///
  /// - Parameter base: The state.
  public init(_ base: any QueryStateProtocol) { self.base = base }
}

// MARK: - Values

extension OpaqueQueryState {
  public var currentValue: (any Sendable)? { Self.currentValue(of: self.base) }
  public var initialValue: (any Sendable)? { Self.initialValue(of: self.base) }
  public var valueUpdateCount: Int { self.base.valueUpdateCount }
  public var valueLastUpdatedAt: Date? { self.base.valueLastUpdatedAt }
  public var isLoading: Bool { self.base.isLoading }
  public var error: (any Error)? { self.base.error }
  public var errorUpdateCount: Int { self.base.errorUpdateCount }
  public var errorLastUpdatedAt: Date? { self.base.errorLastUpdatedAt }
  public var isInvalidated: Bool { self.base.isInvalidated }

  private static func currentValue(of state: some QueryStateProtocol) -> (any Sendable)? {
    OpaqueValue.wrap(state.currentValue)
  }

  private static func initialValue(of state: some QueryStateProtocol) -> (any Sendable)? {
    OpaqueValue.wrap(state.initialValue)
  }
}

// MARK: - Updates

extension OpaqueQueryState {
  public mutating func scheduleFetchTask(_ task: inout QueryTask<any Sendable>) {
    Self.schedule(&task, on: &self.base)
  }

  public mutating func reset(using context: QueryContext) { self.base.reset(using: context) }

  public mutating func invalidate() { self.base.invalidate() }

  public mutating func update(
    with result: Result<(any Sendable)?, any Error>,
    using context: QueryContext
  ) {
    Self.update(&self.base, with: result, using: context)
  }

  public mutating func update(
    with result: Result<any Sendable, any Error>,
    for task: QueryTask<any Sendable>
  ) {
    Self.update(&self.base, with: result, for: task)
  }

  public mutating func finishFetchTask(_ task: QueryTask<any Sendable>) {
    Self.finish(task, on: &self.base)
  }

  private static func schedule<State: QueryStateProtocol>(
    _ task: inout QueryTask<any Sendable>,
    on state: inout State
  ) {
    var typed: QueryTask<State.QueryValue> = task.map { OpaqueValue.unwrap($0) }
    state.scheduleFetchTask(&typed)
    task.context = typed.context
  }

  private static func update<State: QueryStateProtocol>(
    _ state: inout State,
    with result: Result<(any Sendable)?, any Error>,
    using context: QueryContext
  ) {
    state.update(with: result.map { OpaqueValue.unwrap($0) }, using: context)
  }

  private static func update<State: QueryStateProtocol>(
    _ state: inout State,
    with result: Result<any Sendable, any Error>,
    for task: QueryTask<any Sendable>
  ) {
    state.update(
      with: result.map { OpaqueValue.unwrap($0) },
      for: task.map { OpaqueValue.unwrap($0) }
    )
  }

  private static func finish<State: QueryStateProtocol>(
    _ task: QueryTask<any Sendable>,
    on state: inout State
  ) {
    state.finishFetchTask(task.map { OpaqueValue.unwrap($0) })
  }
}
