public import FoundationEssentials

/// The library's source of time: every date of a state, and every age, comes from one.
///
/// Called under the lock of a store, so a clock must not call back into one.
public protocol QueryClock: Sendable {
  /// The current date.
  func now() -> Date
}

extension QueryClock {
  /// A clock that stands still at this clock's current date.
  public func frozen() -> TimeFreezeClock { TimeFreezeClock(date: self.now()) }
}

/// The clock of the system.
public struct SystemTimeClock: QueryClock {
  @inlinable
  init() {}

  @inlinable
  public func now() -> Date { Date() }
}

/// A clock that calls a closure.
public struct CustomQueryClock: QueryClock {
  private let date: @Sendable () -> Date

  fileprivate init(date: @escaping @Sendable () -> Date) { self.date = date }

  public func now() -> Date { self.date() }
}

/// A clock that stands still.
public struct TimeFreezeClock: QueryClock {
  private let date: Date

  fileprivate init(date: Date) { self.date = date }

  public func now() -> Date { self.date }
}

// MARK: - Making one

extension QueryClock where Self == SystemTimeClock {
  /// The clock of the system.
  @inlinable
  public static var systemTime: SystemTimeClock { SystemTimeClock() }
}

extension QueryClock where Self == CustomQueryClock {
  /// A clock that calls a closure each time it is read.
  ///
  /// - Parameter date: Tells the current date.
  public static func custom(_ date: @escaping @Sendable () -> Date) -> CustomQueryClock {
    CustomQueryClock(date: date)
  }
}

extension QueryClock where Self == TimeFreezeClock {
  /// A clock that stands still at the moment of its creation.
  public static var timeFreeze: TimeFreezeClock { TimeFreezeClock(date: Date()) }

  /// A clock that stands still at a date.
  ///
  /// - Parameter date: What the clock shows.
  public static func timeFreeze(_ date: Date) -> TimeFreezeClock { TimeFreezeClock(date: date) }
}
