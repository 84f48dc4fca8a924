/// The error of a fetch that goes round in a circle: each time its query fetches itself again.
public struct QueryCircularFetchError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The paths of the queries that fetch one another; the first one comes again at the end.
  public let paths: [QueryPath]

  /// Creates an error.
  ///
  /// - Parameter paths: The paths of the queries that fetch one another.
  public init(paths: [QueryPath]) { self.paths = paths }

  /// What happened, and what to do about it.
  public var description: String {
    """
    A query fetches itself without end: \(self.paths.map(\.description).joined(separator: " -> ")). \
    Let the inner fetch be one of another query, or return without it.
    """
  }
}
