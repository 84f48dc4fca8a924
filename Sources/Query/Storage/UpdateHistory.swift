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
}
