public import FoundationEssentials

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
    /// The outbox's mark of the mutation, if it is durable.
    @usableFromInline var durable: DurableMark?

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

    /// The identifier of the mutation in the outbox, from which a ticket can be made; nil if it is
    /// not durable.
    public var mutationID: UUID? { self.durable?.id }

    /// The key by which the server recognises a repeated mutation; nil if it is not durable.
    public var idempotencyKey: String? { self.durable?.idempotencyKey }

    /// Whether the mutation is saved and has not ended: it runs, or waits to be sent.
    public var isQueued: Bool { self.durable?.isLive ?? false }

    /// Loading until the attempt has ended, then its result.
    public var status: QueryStatus<Value> {
      guard !self.isLoading, let result = self.currentResult else { return .loading }
      return .result(result)
    }
  }
}

/// The outbox's mark of a mutation.
@usableFromInline
struct DurableMark: Sendable {
  let id: UUID
  let idempotencyKey: String
  /// Its place in the order of enqueueing.
  let number: Int
  /// Whether it runs, or waits to be sent.
  var isLive = true
  /// Whether it has ended for good. A dead one may come back.
  var isOver = false
}

extension DurableMark {
  init(_ admitted: any AdmittedAttempt) {
    self.init(
      id: admitted.id, idempotencyKey: admitted.idempotencyKey, number: admitted.number)
  }
}
