/// The error of an attempt that took longer than it was allowed to: see
/// ``QueryRequest/timeout(after:)-(Duration)``.
public struct QueryTimeoutError: Error, Hashable, Sendable, CustomStringConvertible {
  /// How long it was allowed to take.
  public let duration: Duration

  /// The name of the query's type; nil if it is not known.
  public let query: String?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - duration: How long the attempt was allowed to take.
  ///   - query: The name of the query's type.
  public init(duration: Duration, query: String? = nil) {
    self.duration = duration
    self.query = query
  }

  /// What took too long, and what to do about it.
  public var description: String {
    """
    \(self.query ?? "An attempt") took longer than \(self.duration), and was cancelled. Try again, or allow \
    it more time.
    """
  }
}
