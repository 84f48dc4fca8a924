public import FoundationEssentials

extension MutationState {
  /// One attempt of a mutation.
  public struct HistoryEntry: Sendable, Identifiable {
    /// What the attempt was given; of a durable mutation, what it is sent with, once it was retried with
    /// other arguments.
    @inlinable
    public var arguments: Arguments { self.content.arguments }

    /// When the attempt was scheduled, by the clock of the context.
    @inlinable
    public var startDate: Date { self.content.startDate }

    /// What the attempt yielded last, or ended with.
    @inlinable
    public var currentResult: Result<Value, any Error>? { self.content.outcome?.result }

    /// When ``currentResult`` was last set, by the clock of the context.
    @inlinable
    public var lastUpdatedAt: Date? { self.content.lastUpdatedAt }

    // One reference: if a handler keeps the state, the next attempt copies the history, which so is a
    // list of references and not of all arguments and results.
    @usableFromInline var content: Content

    @inlinable
    init(arguments: Arguments, startDate: Date, fetch: QueryTask<QueryValue>) {
      self.content = Content(arguments: arguments, startDate: startDate, fetch: fetch)
    }

    /// The identity of the attempt's task.
    @inlinable
    public var id: QueryTaskIdentifier { self.content.id }

    /// The task of the attempt, which can be awaited.
    public var task: QueryTask<Value> { self.fetch.map(\.returnValue) }

    /// The identifier of the mutation in the outbox, from which a ticket can be made; nil if it is
    /// not durable.
    public var mutationID: UUID? { self.durable?.id }

    /// The key by which the server recognises a repeated mutation; nil if it is not durable.
    public var idempotencyKey: String? { self.durable?.idempotencyKey }

    /// Whether the mutation is saved and has not ended: it runs, or waits to be sent.
    public var isQueued: Bool { self.durable?.isLive ?? false }

    /// How much the running attempt of a durable mutation has sent, as it tells by
    /// ``MutationAttempt/report(_:)``; nil if it has told nothing, or does not run.
    public var progress: MutationProgress? {
      guard self.isLoading, let mark = self.durable, mark.isLive else { return nil }
      return mark.progress
    }

    /// Loading until the attempt has ended, then its result.
    public var status: QueryStatus<Value> {
      guard !self.isLoading, let result = self.currentResult else { return .loading }
      return .result(result)
    }
  }
}

// MARK: - Content

extension MutationState.HistoryEntry {
  /// What an entry is about; changed while a single entry holds it.
  // @unchecked: see above; the setters below copy it if it has another owner.
  @usableFromInline
  final class Content: @unchecked Sendable {
    /// That of ``fetch``, whose type is looked up to be read.
    @usableFromInline let id: QueryTaskIdentifier
    @usableFromInline let arguments: Arguments
    @usableFromInline let startDate: Date
    @usableFromInline let fetch: QueryTask<MutationValue<Value>>
    @exclusivity(unchecked) @usableFromInline var outcome: Outcome?
    @exclusivity(unchecked) @usableFromInline var lastUpdatedAt: Date?
    @exclusivity(unchecked) @usableFromInline var isLoading = true
    @exclusivity(unchecked) @usableFromInline var unrecordedUpdate: Int?
    @exclusivity(unchecked) @usableFromInline var durable: DurableMark?

    @inlinable
    init(arguments: Arguments, startDate: Date, fetch: QueryTask<MutationValue<Value>>) {
      self.id = fetch.id
      self.arguments = arguments
      self.startDate = startDate
      self.fetch = fetch
    }

    @usableFromInline
    func copy() -> Content { self.copy(with: self.arguments) }

    func copy(with arguments: Arguments) -> Content {
      let copy = Content(arguments: arguments, startDate: self.startDate, fetch: self.fetch)
      copy.outcome = self.outcome
      copy.lastUpdatedAt = self.lastUpdatedAt
      copy.isLoading = self.isLoading
      copy.unrecordedUpdate = self.unrecordedUpdate
      copy.durable = self.durable
      return copy
    }
  }

  /// A result in an object of its own: the type of a result is looked up whenever it is copied or released, and an
  /// entry is copied as often as a handler keeps the state.
  @usableFromInline
  final class Outcome: Sendable {
    @usableFromInline let result: Result<Value, any Error>

    @inlinable
    init(_ result: Result<Value, any Error>) { self.result = result }
  }

  @inlinable
  mutating func ownContent() -> Content {
    if !isKnownUniquelyReferenced(&self.content) { self.content = self.content.copy() }
    return self.content
  }

  @inlinable var fetch: QueryTask<MutationValue<Value>> { self.content.fetch }

  @inlinable var _currentResult: Result<Value, any Error>? {
    get { self.content.outcome?.result }
    set { self.ownContent().outcome = newValue.map(Outcome.init) }
  }

  @inlinable var _lastUpdatedAt: Date? {
    get { self.content.lastUpdatedAt }
    set { self.ownContent().lastUpdatedAt = newValue }
  }

  @inlinable var isLoading: Bool {
    get { self.content.isLoading }
    set { self.ownContent().isLoading = newValue }
  }

  /// The place of ``currentResult`` in the order of updates, if the state did not count it since a later
  /// attempt was there.
  @inlinable var unrecordedUpdate: Int? {
    get { self.content.unrecordedUpdate }
    set { self.ownContent().unrecordedUpdate = newValue }
  }

  /// The outbox's mark of the mutation, if it is durable.
  @inlinable var durable: DurableMark? {
    get { self.content.durable }
    set { self.ownContent().durable = newValue }
  }
}

/// The outbox's mark of a mutation.
@usableFromInline
struct DurableMark: Sendable {
  @usableFromInline let id: UUID
  @usableFromInline let idempotencyKey: String
  /// Its place in the order of enqueueing.
  @usableFromInline let number: Int
  /// Whether it runs, or waits to be sent.
  var isLive = true
  /// Whether it has ended for good. A dead one may come back.
  var isOver = false
  /// How much its attempt has sent.
  var progress: MutationProgress?
}

extension DurableMark {
  @usableFromInline
  init(_ admitted: any AdmittedAttempt) {
    self.init(
      id: admitted.id, idempotencyKey: admitted.idempotencyKey, number: admitted.number)
  }

  func with(key: String) -> DurableMark {
    DurableMark(
      id: self.id, idempotencyKey: key, number: self.number, isLive: self.isLive,
      isOver: self.isOver, progress: self.progress)
  }
}
