public import FoundationEssentials

/// The stored part of a state beside its value: how often and when it was updated, and its error.
public struct UpdateHistory: Hashable, Sendable {
  /// How many successful updates there were.
  public var valueUpdateCount: Int

  /// When the value was last updated, by the clock of the query's context.
  public var valueLastUpdatedAt: Date?

  /// The error of the last update, if it failed.
  public var error: RestoredError?

  /// How many failed updates there were.
  public var errorUpdateCount: Int

  /// When an update last failed.
  public var errorLastUpdatedAt: Date?

  /// Whether the value was invalidated.
  public var isInvalidated: Bool

  /// When the value was last invalidated; nil: it was not, or nobody knows when. The clock counts from the
  /// start of the machine, and is the same for all its processes. Not compared.
  public var invalidatedAt: ContinuousClock.Instant? {
    get { self.invalidation.value }
    set { self.invalidation.value = newValue }
  }
  private var invalidation = NotCompared<ContinuousClock.Instant?>(value: nil)

  /// Creates a history.
  ///
  /// - Parameters:
  ///   - valueUpdateCount: How many successful updates there were.
  ///   - valueLastUpdatedAt: When the value was last updated.
  ///   - error: The error of the last update, if it failed.
  ///   - errorUpdateCount: How many failed updates there were.
  ///   - errorLastUpdatedAt: When an update last failed.
  ///   - isInvalidated: Whether the value was invalidated.
  public init(
    valueUpdateCount: Int = 0,
    valueLastUpdatedAt: Date? = nil,
    error: RestoredError? = nil,
    errorUpdateCount: Int = 0,
    errorLastUpdatedAt: Date? = nil,
    isInvalidated: Bool = false
  ) {
    self.valueUpdateCount = valueUpdateCount
    self.valueLastUpdatedAt = valueLastUpdatedAt
    self.error = error
    self.errorUpdateCount = errorUpdateCount
    self.errorLastUpdatedAt = errorLastUpdatedAt
    self.isInvalidated = isInvalidated
  }

  /// Records an invalidation.
  ///
  /// - Parameter instant: When it was made; nil: nobody knows. An older one than the last changes nothing.
  mutating func invalidate(at instant: ContinuousClock.Instant?) {
    self.isInvalidated = true
    guard let instant else { return }
    self.invalidatedAt = max(instant, self.invalidatedAt ?? instant)
  }
}
