public import FoundationEssentials

/// Delays a query before it is retried.
public protocol QueryDelayer: Sendable {
  /// Waits.
  ///
  /// - Parameter seconds: How long, in seconds.
  /// - Throws: `CancellationError` if the task is cancelled.
  func delay(for seconds: TimeInterval) async throws
}

/// A delayer that lets the task sleep.
public struct TaskSleepDelayer: QueryDelayer {
  fileprivate init() {}

  public func delay(for seconds: TimeInterval) async throws {
    try await Task.sleep(for: Duration(clampingSeconds: seconds))
  }
}

/// A delayer that lets the task sleep by a clock, a test's for example.
public struct ClockDelayer<C: Clock>: QueryDelayer where C.Duration == Duration {
  private let clock: C

  fileprivate init(clock: C) { self.clock = clock }

  public func delay(for seconds: TimeInterval) async throws {
    try await self.clock.sleep(for: Duration(clampingSeconds: seconds))
  }
}

/// A delayer that does not wait. It only checks whether the task is cancelled.
public struct NoDelayer: QueryDelayer {
  fileprivate init() {}

  public func delay(for seconds: TimeInterval) async throws { try Task.checkCancellation() }
}

extension MockQueryClock: QueryDelayer {
  public func delay(for seconds: TimeInterval) async throws {
    try await self.sleep(for: Duration(clampingSeconds: seconds))
  }
}

/// A type-erased delayer.
public struct AnyDelayer: QueryDelayer {
  /// The delayer inside.
  public let base: any QueryDelayer

  /// Takes the type of a delayer away.
  ///
  /// - Parameter base: The delayer.
  public init(_ base: any QueryDelayer) { self.base = base }

  public func delay(for seconds: TimeInterval) async throws {
    try await self.base.delay(for: seconds)
  }
}

// MARK: - Making one

extension QueryDelayer where Self == TaskSleepDelayer {
  /// Lets the task sleep.
  public static var taskSleep: TaskSleepDelayer { TaskSleepDelayer() }
}

extension QueryDelayer where Self == NoDelayer {
  /// Does not wait.
  public static var noDelay: NoDelayer { NoDelayer() }
}

extension QueryDelayer {
  /// Lets the task sleep by a clock.
  ///
  /// - Parameter clock: The clock.
  public static func clock<C: Clock>(_ clock: C) -> Self
  where Self == ClockDelayer<C>, C.Duration == Duration {
    ClockDelayer(clock: clock)
  }
}

// MARK: - Context

extension QueryContext {
  /// Delays a query before it is retried. By default the context's clock if that is a
  /// ``MockQueryClock``, else the continuous clock.
  public var queryDelayer: any QueryDelayer {
    get { self[QueryDelayerKey.self] ?? self.mockClock ?? .clock(ContinuousClock()) }
    set { self[QueryDelayerKey.self] = newValue }
  }

  private enum QueryDelayerKey: Key {
    static var defaultValue: (any QueryDelayer)? { nil }
  }
}

extension QueryRequest {
  /// Sets the delayer that makes this query wait before it is retried.
  ///
  /// - Parameter delayer: The delayer.
  public func delayer<D: QueryDelayer>(
    _ delayer: D
  ) -> ModifiedQuery<Self, _DelayerModifier<Self, D>> {
    self.modifier(_DelayerModifier(delayer: delayer))
  }
}

public struct _DelayerModifier<Query: QueryRequest, D: QueryDelayer>:
  _ContextUpdatingQueryModifier
{
  let delayer: D

  public func setup(context: inout QueryContext) { context.queryDelayer = self.delayer }
}
