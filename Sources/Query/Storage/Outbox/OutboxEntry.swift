public import FoundationEssentials

/// A mutation that is live or dead: a row of the outbox.
public struct OutboxEntry: Hashable, Sendable, Identifiable {
  /// The mutation's identifier, which its ticket has too.
  public package(set) var id: UUID
  /// Its number in the order of enqueueing, which is never reused.
  public package(set) var number: Int
  /// The name that the mutation was persisted as.
  public var name: String
  /// The instance of the request: its path's canonical text without the names of types.
  public var instance: String
  /// The version of the coded arguments.
  public var version: Int
  /// The lane; nil: one of its own.
  public var lane: String?
  /// The host that it is sent to; nil: its name counts as one.
  public var host: String?
  /// What the lane does when this mutation is dead.
  public var onFailure: LanePolicy
  /// It is dead after so many failures in which the server was reached; nil: never.
  public var maxAttempts: Int?
  /// It is dead after this time without success; nil: never.
  public var maxAge: Duration?
  /// How urgent it is.
  public var priority: MutationPriority
  /// Its state.
  public var state: State
  /// What it waits for, if it is pending and not due; nil if it may run now.
  public var waitReason: MutationWaitReason?
  /// Why it is dead.
  public var deadReason: MutationDeadReason?
  /// How many attempts were begun.
  public var attempts: Int
  /// How many of them failed and count against ``maxAttempts``.
  public var failures: Int
  /// Whether an earlier attempt may have been carried out by the server.
  public var maybeApplied: Bool
  /// The key by which the server recognises a repeated mutation.
  public var idempotencyKey: String
  /// When it was enqueued, by the wall clock.
  public var createdAt: Date
  /// When it may run again, by the wall clock; nil: at once.
  public var nextAttemptAt: Date?
  /// The name of the coder of the arguments.
  public var coder: String
  /// The coded arguments.
  public var arguments: Data
  /// What the last attempt failed with.
  public var lastError: RestoredError?
  /// Whether it waits for its server to be reached: that was not there, or its answer was lost, when this
  /// mutation or another one was sent to it last. A server that has answered, as with a 503, is not.
  public package(set) var isUnreached = false
  /// Which queries its edits change; nil: it has none. The history keeps it until every stored value of
  /// these queries includes the mutation.
  public var editedPaths: EditedPaths?

  /// The state of a row.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// It waits.
    case pending
    /// One process runs it.
    case leased
    /// It is stored for a person or the application, and is not sent.
    case dead
  }

  /// Creates an entry, as a storage does. See the properties for what each is.
  public init(
    id: UUID,
    number: Int,
    name: String,
    instance: String,
    version: Int = 1,
    lane: String? = nil,
    host: String? = nil,
    onFailure: LanePolicy = .continue,
    maxAttempts: Int? = nil,
    maxAge: Duration? = nil,
    state: State = .pending,
    waitReason: MutationWaitReason? = nil,
    deadReason: MutationDeadReason? = nil,
    attempts: Int = 0,
    failures: Int = 0,
    maybeApplied: Bool = false,
    idempotencyKey: String,
    createdAt: Date,
    nextAttemptAt: Date? = nil,
    coder: String,
    arguments: Data,
    lastError: RestoredError? = nil,
    priority: MutationPriority = .normal,
    editedPaths: EditedPaths? = nil
  ) {
    self.id = id
    self.number = number
    self.name = name
    self.instance = instance
    self.version = version
    self.lane = lane
    self.host = host
    self.onFailure = onFailure
    self.maxAttempts = maxAttempts
    self.maxAge = maxAge
    self.state = state
    self.waitReason = waitReason
    self.deadReason = deadReason
    self.attempts = attempts
    self.failures = failures
    self.maybeApplied = maybeApplied
    self.idempotencyKey = idempotencyKey
    self.createdAt = createdAt
    self.nextAttemptAt = nextAttemptAt
    self.coder = coder
    self.arguments = arguments
    self.lastError = lastError
    self.priority = priority
    self.editedPaths = editedPaths
  }
}

extension OutboxEntry {
  /// The entry of a new mutation, which is pending.
  ///
  /// - Parameters:
  ///   - new: The mutation.
  ///   - number: Its number.
  ///   - createdAt: When it is enqueued, by the wall clock.
  package init(_ new: NewMutation, number: Int, createdAt: Date) {
    self.init(
      id: new.id, number: number, name: new.name, instance: new.instance, version: new.version,
      lane: new.lane, host: new.host, onFailure: new.onFailure, maxAttempts: new.maxAttempts,
      maxAge: new.maxAge, idempotencyKey: new.idempotencyKey, createdAt: createdAt,
      coder: new.coder, arguments: new.arguments, priority: new.priority,
      editedPaths: new.editedPaths)
  }

  /// The entry without what only decides how it is sent, which no history keeps.
  package var kept: Self {
    var kept = self
    (kept.host, kept.onFailure, kept.maxAttempts, kept.maxAge) = (nil, .continue, nil, nil)
    (kept.state, kept.waitReason, kept.deadReason) = (.pending, nil, nil)
    (kept.failures, kept.nextAttemptAt, kept.priority) = (0, nil, .normal)
    kept.isUnreached = false
    return kept
  }
}

/// What a pending mutation waits for.
public enum MutationWaitReason: String, Hashable, Sendable, CaseIterable {
  /// The time until it is tried again.
  case backoff
  /// The network.
  case offline
  /// Other credentials: the server does not know the sender.
  case authentication
  /// An earlier mutation of its lane.
  case predecessor
  /// A mutation that it depends on, or an alias that another mutation publishes.
  case dependency
  /// A program that has registered its name, in this version.
  case handler
  /// The end of a pause, of the outbox or of its lane, name or host.
  case paused
  /// The time that the server named in its answer.
  case retryAfter
  /// The time that it was enqueued for.
  case scheduled
}

/// Why a mutation is dead.
public enum MutationDeadReason: String, Hashable, Sendable, CaseIterable {
  /// The server refused it for good.
  case rejected
  /// It failed as often as it may.
  case exhausted
  /// It grew too old.
  case expired
  /// It crashed its process five times.
  case crashLoop
  /// Its arguments cannot be read.
  case undecodable
  /// The server has something else, and the mutation did not resolve the conflict.
  case conflict
  /// A mutation that it depends on will not succeed.
  case dependency
}

/// How many mutations an outbox has.
public struct OutboxCounts: Hashable, Sendable {
  /// How many wait.
  public var pending: Int
  /// How many run, or ran in a process that has died: those the next replayer takes over, of whichever
  /// process. A program that sends what is left looks at both.
  public var leased: Int
  /// How many are dead.
  public var dead: Int
  /// When the oldest waiting or running mutation was enqueued, by the wall clock; nil if there is none. Its
  /// age is how far sending lags behind.
  public var oldestAt: Date?

  /// Creates counts.
  public init(pending: Int = 0, leased: Int = 0, dead: Int = 0, oldestAt: Date? = nil) {
    self.pending = pending
    self.leased = leased
    self.dead = dead
    self.oldestAt = oldestAt
  }
}

/// One attempt of a mutation, as the outbox recorded it. The last 20 of each are kept.
public struct OutboxAttempt: Hashable, Sendable {
  /// Counted from 1.
  public var number: Int
  /// When it began, by the wall clock.
  public var startedAt: Date
  /// When it ended; nil: it runs, or its process died.
  public var endedAt: Date?
  /// `succeeded`, or the class of its failure, as `connectivity`.
  public var outcome: String?
  /// The code of the error: an HTTP status, or that of a `URLError`.
  public var code: Int?
  /// What it failed with.
  public var error: RestoredError?
  /// The key that it was sent with, if a conflict has replaced it since.
  public var replacedKey: String?
  /// The arguments that it was sent with, if a conflict has replaced them since.
  public var replacedArguments: Data?
  /// The beginning of the server's answer, as of ``HTTPStatusError/body``: at most 4 KiB. It may have a
  /// user's values in it.
  public var response: Data?

  /// Creates a record. See the properties for what each is.
  public init(
    number: Int,
    startedAt: Date,
    endedAt: Date? = nil,
    outcome: String? = nil,
    code: Int? = nil,
    error: RestoredError? = nil,
    replacedKey: String? = nil,
    replacedArguments: Data? = nil,
    response: Data? = nil
  ) {
    self.number = number
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.outcome = outcome
    self.code = code
    self.error = error
    self.replacedKey = replacedKey
    self.replacedArguments = replacedArguments
    self.response = response
  }
}

extension OutboxEntry {
  /// Whether one call of a handler may send it together with another one of its lane.
  package func goes(with other: OutboxEntry) -> Bool {
    self.lane == other.lane && self.name == other.name && self.instance == other.instance
      && self.version == other.version && self.effectiveHost == other.effectiveHost
  }
}
