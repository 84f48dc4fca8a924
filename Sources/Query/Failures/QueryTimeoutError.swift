/// The error of an attempt that took longer than it was allowed to.
public struct QueryTimeoutError: Error, Hashable, Sendable, CustomStringConvertible {
  /// How long it was allowed to take.
  public let duration: Duration

  /// Creates an error.
  ///
  /// - Parameter duration: How long the attempt was allowed to take.
  public init(duration: Duration) { self.duration = duration }

  /// What happened, and what to do about it.
  public var description: String {
    """
    A query took longer than \(self.duration) and was cancelled. Try again, or allow it more time.
    """
  }
}
