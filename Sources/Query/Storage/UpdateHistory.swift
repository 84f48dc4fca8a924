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

  /// When the value was last invalidated; nil: it was not, or nobody knows when. If it is not invalidated any
  /// more, it was asked for after that. The clock counts from the start of the machine, and is the same for all
  /// its processes. Not compared.
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

  /// When the value was last invalidated, and whether it is a newer one by now.
  package var lastInvalidation: LastInvalidation {
    get {
      guard let instant = self.invalidatedAt else {
        return self.isInvalidated ? .atUnknownTime : .none
      }
      let last = LastInvalidation(microseconds: instant.microsecondsSinceBoot)
      return self.isInvalidated ? last : last.answered
    }
    set { (self.isInvalidated, self.invalidatedAt) = (newValue.isStanding, newValue.instant) }
  }

  /// Records an invalidation that was made beside this.
  ///
  /// - Parameter invalidation: The invalidation; one that the value answers changes nothing.
  mutating func note(_ invalidation: LastInvalidation) {
    self.lastInvalidation = invalidation.noted(beside: self.lastInvalidation)
  }
}
