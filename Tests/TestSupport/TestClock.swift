public import Foundation
public import Query

/// A clock that stands still until the test moves it.
public final class TestClock: QueryClock {
  private let date: Locked<Date>

  /// Creates a clock.
  ///
  /// - Parameter date: What it shows; 2009-02-13 23:31:30 UTC by default.
  public init(_ date: Date = Date(timeIntervalSince1970: 1_234_567_890)) {
    self.date = Locked(date)
  }

  public func now() -> Date { self.date.withLock { $0 } }

  /// Moves the clock forward.
  ///
  /// - Parameter seconds: How far, in seconds.
  public func advance(by seconds: TimeInterval) {
    self.date.withLock { $0 += seconds }
  }
}
