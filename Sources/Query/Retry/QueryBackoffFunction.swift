public import FoundationEssentials
import Glibc

/// How long a query waits before it is retried.
///
/// The argument counts the failed attempts from 1; the result is in seconds.
public struct QueryBackoffFunction: Sendable {
  private let makeDescription: @Sendable () -> String
  private let backoff: @Sendable (Int) -> TimeInterval

  /// Creates a function.
  ///
  /// - Parameters:
  ///   - description: The name of the function, for messages.
  ///   - backoff: The seconds to wait after so many failed attempts. A negative, infinite or
  ///     undefined number is taken as 0, with a warning.
  public init(
    _ description: @autoclosure @escaping @Sendable () -> String = "Custom",
    _ backoff: @escaping @Sendable (Int) -> TimeInterval
  ) {
    self.makeDescription = description
    self.backoff = backoff
  }

  /// The seconds to wait after so many failed attempts.
  ///
  /// - Parameter attempt: How many attempts have failed, 1 or more.
  public func callAsFunction(_ attempt: Int) -> TimeInterval { self.backoff(attempt) }
}

// MARK: - Functions

extension QueryBackoffFunction {
  /// No wait.
  public static let noBackoff = QueryBackoffFunction("No Backoff") { _ in 0 }

  /// The same wait each time.
  ///
  /// - Parameter interval: The wait in seconds.
  /// - Precondition: `interval` is a number, and not negative.
  public static func constant(_ interval: TimeInterval) -> QueryBackoffFunction {
    Self.check(interval)
    return QueryBackoffFunction("Constant \(interval.secondsText)") { _ in interval }
  }

  /// A wait that grows by the same amount each time.
  ///
  /// - Parameter interval: The first wait in seconds, and by how much it grows.
  /// - Precondition: `interval` is a number, and not negative.
  public static func linear(_ interval: TimeInterval) -> QueryBackoffFunction {
    Self.check(interval)
    return QueryBackoffFunction("Linear every \(interval.secondsText)") { attempt in
      interval * TimeInterval(attempt)
    }
  }

  /// A wait that doubles each time.
  ///
  /// - Parameter interval: The first wait in seconds.
  /// - Precondition: `interval` is a number, and not negative.
  public static func exponential(_ interval: TimeInterval) -> QueryBackoffFunction {
    Self.check(interval)
    return QueryBackoffFunction("Exponential every \(interval.secondsText)") { attempt in
      // Zero times infinity is no number.
      attempt <= 0 || interval == 0 ? 0 : interval * pow(2, TimeInterval(attempt - 1))
    }
  }

  /// A wait that grows as the Fibonacci numbers: 1, 1, 2, 3, 5…
  ///
  /// - Parameter interval: The first wait in seconds.
  /// - Precondition: `interval` is a number, and not negative.
  public static func fibonacci(_ interval: TimeInterval) -> QueryBackoffFunction {
    Self.check(interval)
    return QueryBackoffFunction("Fibonacci every \(interval.secondsText)") { attempt in
      interval == 0 ? 0 : interval * Self.fibonacciNumber(attempt)
    }
  }

  // In floating point, since the 93rd does not fit an integer.
  private static func fibonacciNumber(_ index: Int) -> TimeInterval {
    var (current, next): (TimeInterval, TimeInterval) = (0, 1)
    for _ in 0..<max(0, index) {
      // Nothing is greater than infinity, so the rest of the loop can be skipped.
      guard current.isFinite else { break }
      (current, next) = (next, current + next)
    }
    return current
  }

  private static func check(_ interval: TimeInterval) {
    precondition(
      interval >= 0,
      "A backoff takes a number of seconds that is not negative; got \(interval)."
    )
  }

  /// A wait anywhere between nothing and this function's, so that clients that failed together do
  /// not try again together.
  ///
  /// - Parameter generator: Supplies the randomness; it is shared by all calls.
  public func jittered<T: RandomNumberGenerator & Sendable>(
    using generator: T = SystemRandomNumberGenerator()
  ) -> QueryBackoffFunction {
    let generator = SharedGenerator(generator)
    return QueryBackoffFunction("\(self.rawDescription) with jitter") { attempt in
      let limit = self(attempt)
      // A range that is empty or endless has no random element.
      guard limit > 0, limit.isFinite else { return limit }
      return generator.value.withLock { TimeInterval.random(in: 0..<limit, using: &$0) }
    }
  }
}

private final class SharedGenerator<Generator: RandomNumberGenerator & Sendable>: Sendable {
  let value: Locked<Generator>

  init(_ generator: Generator) { self.value = Locked(generator) }
}

// MARK: - CustomStringConvertible

extension QueryBackoffFunction: CustomStringConvertible {
  /// The name of the function.
  public var rawDescription: String { self.makeDescription() }

  /// `QueryBackoffFunction(<name>)`.
  public var description: String { "QueryBackoffFunction(\(self.rawDescription))" }
}

extension TimeInterval {
  /// Seconds for people: `2.0 secs`, `1.0 sec`.
  var secondsText: String { self == 1 ? "1.0 sec" : "\(self) secs" }
}

// MARK: - Context

extension QueryContext {
  /// How long a query waits before it is retried. Exponential from 1 second by default.
  public var queryBackoffFunction: QueryBackoffFunction {
    get { self[QueryBackoffFunctionKey.self] }
    set { self[QueryBackoffFunctionKey.self] = newValue }
  }

  private enum QueryBackoffFunctionKey: Key {
    static let defaultValue = QueryBackoffFunction.exponential(1)
  }
}

extension QueryRequest {
  /// Sets how long this query waits before it is retried.
  ///
  /// - Parameter function: The seconds after each failed attempt.
  public func backoff(
    _ function: QueryBackoffFunction
  ) -> ModifiedQuery<Self, _BackoffModifier<Self>> {
    self.modifier(_BackoffModifier(function: function))
  }
}

public struct _BackoffModifier<Query: QueryRequest>: _ContextUpdatingQueryModifier {
  let function: QueryBackoffFunction

  public func setup(context: inout QueryContext) { context.queryBackoffFunction = self.function }
}
