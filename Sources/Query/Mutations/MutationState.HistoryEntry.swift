public import Foundation

extension MutationState {
  /// One attempt of a mutation.
  public struct HistoryEntry: Sendable, Identifiable {
    /// What the attempt was given.
    public let arguments: Arguments

    /// When the attempt was scheduled, by the clock of the context.
    public let startDate: Date

    /// What the attempt yielded last, or ended with.
    @inlinable
    public var currentResult: Result<Value, any Error>? { self._currentResult }

    /// When ``currentResult`` was last set, by the clock of the context.
    @inlinable
    public var lastUpdatedAt: Date? { self._lastUpdatedAt }

    @usableFromInline var _currentResult: Result<Value, any Error>?
    @usableFromInline var _lastUpdatedAt: Date?
    @usableFromInline let fetch: QueryTask<QueryValue>
    @usableFromInline var isLoading = true

    @inlinable
    init(arguments: Arguments, startDate: Date, fetch: QueryTask<QueryValue>) {
      self.arguments = arguments
      self.startDate = startDate
      self.fetch = fetch
    }

    /// The identity of the attempt's task.
    @inlinable
    public var id: QueryTaskIdentifier { self.fetch.id }

    /// The task of the attempt, which can be awaited.
    public var task: QueryTask<Value> { self.fetch.map(\.returnValue) }

    /// Loading until the attempt has ended, then its result.
    public var status: QueryStatus<Value> {
      guard !self.isLoading, let result = self.currentResult else { return .loading }
      return .result(result)
    }
  }
}
