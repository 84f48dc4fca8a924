public import FoundationEssentials

/// What became of a mutation.
public enum MutationStanding: Sendable {
  /// It waits. It is next if nothing, or only leased rows before it in its lane, keeps it from
  /// running.
  case pending(OutboxEntry, isNext: Bool)
  /// It runs.
  case leased(OutboxEntry)
  /// It is dead.
  case dead(OutboxEntry)
  /// It ended, and is in the history.
  case ended(RecordedMutation)
  /// There is no mutation of this identifier, or it ended so long ago that the history has
  /// forgotten it.
  case unknown
}

/// A mutation as a store restores it: ended, live or dead.
public struct RecordedMutation: Hashable, Sendable, Identifiable {
  /// How a mutation ended.
  public enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// The server has carried it out.
    case succeeded
    /// A caller has cancelled it.
    case cancelled
    /// A later mutation, or the server's version, superseded it.
    case superseded
    /// A caller has discarded it when it was dead.
    case discarded
  }

  /// Its state.
  public enum State: Hashable, Sendable {
    /// It waits, or runs, or is dead.
    case outbox(OutboxEntry.State, MutationWaitReason?, MutationDeadReason?)
    /// It ended.
    case ended(Outcome)
  }

  /// Its entry in the outbox. That of an ended one has only what the history keeps; see
  /// ``OutboxEntry/kept``.
  package var entry: OutboxEntry
  private var outcome: Outcome?
  /// The coded result of a success, if there is one.
  public var result: Data?
  /// When it ended, or an attempt failed last, by the wall clock.
  public var updatedAt: Date?
  /// The mutation that superseded it.
  public var successor: UUID?
  /// Its place in the order of ends; nil: it has not ended.
  public var sequence: Int64?

  /// Creates a record of a live or dead mutation.
  ///
  /// - Parameters:
  ///   - entry: Its entry.
  ///   - failedAt: When an attempt failed last, microseconds since 1970; nil: none has.
  package init(_ entry: OutboxEntry, failedAt: Int64?) {
    self.entry = entry
    self.updatedAt = failedAt.map { Date(microsecondsSince1970: $0) }
  }

  /// Creates a record of a mutation that has ended.
  ///
  /// - Parameters:
  ///   - entry: Its last entry.
  ///   - outcome: How it ended.
  ///   - endedAt: When it ended.
  package init(
    _ entry: OutboxEntry, _ outcome: Outcome, result: Data? = nil, endedAt: Date,
    successor: UUID? = nil, sequence: Int64? = nil
  ) {
    self.entry = entry.kept
    self.outcome = outcome
    self.result = result
    self.updatedAt = endedAt
    self.successor = successor
    self.sequence = sequence
  }

  /// Creates a record. See the properties for what each is.
  public init(
    id: UUID,
    number: Int,
    state: State,
    idempotencyKey: String,
    version: Int,
    coder: String,
    arguments: Data,
    result: Data? = nil,
    error: RestoredError? = nil,
    attempts: Int = 0,
    createdAt: Date,
    updatedAt: Date? = nil,
    successor: UUID? = nil
  ) {
    self.entry = OutboxEntry(
      id: id, number: number, name: "", instance: "", version: version, attempts: attempts,
      idempotencyKey: idempotencyKey, createdAt: createdAt, coder: coder, arguments: arguments,
      lastError: error)
    self.result = result
    self.updatedAt = updatedAt
    self.successor = successor
    self.state = state
  }
}

// MARK: - Of its entry

extension RecordedMutation {
  /// The mutation's identifier.
  public var id: UUID { self.entry.id }

  /// The place in the order of enqueueing.
  public var number: Int {
    get { self.entry.number }
    set { self.entry.number = newValue }
  }

  /// Its state.
  public var state: State {
    get {
      if let outcome { return .ended(outcome) }
      return .outbox(self.entry.state, self.entry.waitReason, self.entry.deadReason)
    }
    set {
      switch newValue {
      case .outbox(let state, let waitReason, let deadReason):
        self.outcome = nil
        self.entry.state = state
        self.entry.waitReason = waitReason
        self.entry.deadReason = deadReason
      case .ended(let outcome):
        self.outcome = outcome
        self.entry = self.entry.kept
      }
    }
  }

  /// The key by which the server recognised a repeated mutation.
  public var idempotencyKey: String {
    get { self.entry.idempotencyKey }
    set { self.entry.idempotencyKey = newValue }
  }

  /// The version of the coded arguments.
  public var version: Int {
    get { self.entry.version }
    set { self.entry.version = newValue }
  }

  /// The name of the coder of arguments and result.
  public var coder: String {
    get { self.entry.coder }
    set { self.entry.coder = newValue }
  }

  /// The coded arguments.
  public var arguments: Data {
    get { self.entry.arguments }
    set { self.entry.arguments = newValue }
  }

  /// What the last attempt failed with.
  public var error: RestoredError? {
    get { self.entry.lastError }
    set { self.entry.lastError = newValue }
  }

  /// How many attempts were begun.
  public var attempts: Int {
    get { self.entry.attempts }
    set { self.entry.attempts = newValue }
  }

  /// When it was enqueued, by the wall clock.
  public var createdAt: Date {
    get { self.entry.createdAt }
    set { self.entry.createdAt = newValue }
  }
}
