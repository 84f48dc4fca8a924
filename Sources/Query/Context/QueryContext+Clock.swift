public import FoundationEssentials

extension QueryContext {
  /// The clock that dates and ages come from. The system's by default.
  @inlinable
  public var queryClock: any QueryClock {
    get { self[QueryClockKey.self] }
    set { self[QueryClockKey.self] = newValue }
  }

  /// The current date of the clock. A context for which none was set asks the system at once, and makes no
  /// clock first: each change by hand asks.
  @inlinable
  var now: Date {
    guard let node = self.node(for: ObjectIdentifier(QueryClockKey.self)) else { return Date() }
    return node._withUnsafeGuaranteedRef {
      unsafeDowncast($0, to: ContextValueNode<any QueryClock>.self).value.now()
    }
  }

  @usableFromInline
  enum QueryClockKey: Key {
    @inlinable
    static var defaultValue: any QueryClock { SystemTimeClock() }
  }
}
