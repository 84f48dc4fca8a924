extension QueryContext {
  /// The clock that dates and ages come from. The system's by default.
  @inlinable
  public var queryClock: any QueryClock {
    get { self[QueryClockKey.self] }
    set { self[QueryClockKey.self] = newValue }
  }

  @usableFromInline
  enum QueryClockKey: Key {
    @inlinable
    static var defaultValue: any QueryClock { SystemTimeClock() }
  }
}
