/// The attempt of a fetch that the current task works for, where it can be given up before its code ends, as by
/// `timeout(after:)`: from then on nothing of it counts.
@usableFromInline
struct FetchAttempt: Sendable {
  private static let current = TaskLocal<FetchAttempt?>(wrappedValue: nil)

  /// A fetch of another store that the attempt begins is not a part of it.
  private let work: FetchWork
  private let isOpen: @Sendable () -> Bool

  /// - Parameters:
  ///   - work: The fetch.
  ///   - isOpen: Whether the attempt was not given up.
  @usableFromInline
  init(of work: FetchWork, isOpen: @escaping @Sendable () -> Bool) {
    (self.work, self.isOpen) = (work, isOpen)
  }

  /// An attempt inside of the current one, if that is of the same fetch.
  static func inner(of work: FetchWork, isOpen: @escaping @Sendable () -> Bool) -> FetchAttempt {
    guard let outer = self.isOpen(of: work) else { return FetchAttempt(of: work, isOpen: isOpen) }
    return FetchAttempt(of: work) { isOpen() && outer() }
  }

  /// Fetches as this attempt.
  @usableFromInline
  func fetch<Query: QueryRequest>(
    _ query: Query,
    in context: QueryContext,
    with continuation: QueryContinuation<Query.Value>,
    isolation: isolated (any Actor)?
  ) async throws -> Query.Value {
    try await Self.current.withValue(
      self,
      operation: {
        // Named, so that the work has its isolation.
        _ = isolation
        return try await query.fetch(in: context, with: continuation)
      },
      isolation: isolation)
  }

  /// Says whether the current attempt of a fetch still counts; nil: it does until the fetch ends.
  @usableFromInline
  static func isOpen(of work: FetchWork?) -> (@Sendable () -> Bool)? {
    guard let work, let attempt = self.current.get(), attempt.work === work else { return nil }
    return attempt.isOpen
  }
}
