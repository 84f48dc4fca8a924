public import FoundationEssentials

/// A mutation on its way into the outbox.
public struct NewMutation: Sendable {
  /// The mutation's identifier.
  public var id: UUID { didSet { self.hasFreshID = false } }
  /// The key by which the server recognises a repeated mutation.
  public var idempotencyKey: String
  /// The name that it was persisted as, canonically composed (NFC), so that equal names are one.
  public var name: String { didSet { self.name = self.name.canonicallyComposed } }
  /// The instance of the request: its path's canonical text without the names of types.
  public var instance: String
  /// The version of the coded arguments.
  public var version: Int
  /// The lane; nil: one of its own. It is canonically composed (NFC), so that equal names are one lane.
  public var lane: String? { didSet { self.lane = self.lane?.canonicallyComposed } }
  /// The host that it is sent to, canonically composed; nil: its name counts as one.
  public var host: String? { didSet { self.host = self.host?.canonicallyComposed } }
  /// What the lane does when this mutation is dead.
  public var onFailure: LanePolicy
  /// It is dead after so many failures in which the server was reached; nil: never.
  public var maxAttempts: Int?
  /// It is dead after this time without success; nil: never.
  public var maxAge: Duration?
  /// Whether it supersedes an older one.
  public var coalesce: CoalescePolicy
  /// What must have succeeded before.
  public var dependencies: [UUID]
  /// The name of the coder of the arguments.
  public var coder: String
  /// The coded arguments.
  public var arguments: Data
  /// The files that go with it. The outbox copies them before it commits the mutation.
  public var bodies: [URL]
  /// The copies of ``bodies``, as an outbox on disk names them: they are removed with the mutation.
  public var bodyFile: String?
  /// What it already waits for, if that is known: ``MutationWaitReason/offline``.
  public var waitReason: MutationWaitReason?
  /// It is not sent before this time has passed since it was committed; nil: it may be sent at once.
  public var delay: Duration?
  /// How urgent it is.
  public var priority: MutationPriority
  /// Which queries its edits change; nil: it has none.
  public var editedPaths: EditedPaths?
  /// Whether a mutation of the same identifier, name and instance may be there, or have ended: then
  /// nothing is committed, and that one is the answer.
  public var isRepeatable: Bool
  /// Whether the identifier was just generated, so that no lookup is needed to see whether it is
  /// known.
  package var hasFreshID = false

  /// Creates a mutation. See the properties for what each is.
  public init(
    id: UUID = .random(),
    idempotencyKey: String = UUID.random().text,
    name: String,
    instance: String,
    version: Int = 1,
    lane: String? = nil,
    host: String? = nil,
    onFailure: LanePolicy = .continue,
    maxAttempts: Int? = nil,
    maxAge: Duration? = nil,
    coalesce: CoalescePolicy = .none,
    dependencies: [UUID] = [],
    coder: String,
    arguments: Data,
    bodyFile: String? = nil,
    waitReason: MutationWaitReason? = nil,
    bodies: [URL] = [],
    delay: Duration? = nil,
    isRepeatable: Bool = false,
    priority: MutationPriority = .normal,
    editedPaths: EditedPaths? = nil
  ) {
    self.id = id
    self.idempotencyKey = idempotencyKey
    self.name = name.canonicallyComposed
    self.instance = instance
    self.version = version
    self.lane = lane?.canonicallyComposed
    self.host = host?.canonicallyComposed
    self.onFailure = onFailure
    self.maxAttempts = maxAttempts
    self.maxAge = maxAge
    self.coalesce = coalesce
    self.dependencies = dependencies
    self.coder = coder
    self.arguments = arguments
    self.bodyFile = bodyFile
    self.waitReason = waitReason
    self.bodies = bodies
    self.delay = delay
    self.isRepeatable = isRepeatable
    self.priority = priority
    self.editedPaths = editedPaths
  }
}

/// The result of enqueueing a mutation.
public struct EnqueuedMutation: Sendable {
  /// The row.
  public var entry: OutboxEntry
  /// The lease, if one was requested and the mutation may run now.
  public var lease: MutationLease?
  /// The mutation that it superseded.
  public var superseded: UUID?
  /// Whether the mutation was there, or has ended, and nothing was committed. Of one that has ended the
  /// entry is what the history has; of one that the history has forgotten, what was given.
  public var isOld: Bool

  /// Creates an answer. See the properties for what each is.
  public init(
    entry: OutboxEntry, lease: MutationLease? = nil, superseded: UUID? = nil, isOld: Bool = false
  ) {
    self.entry = entry
    self.lease = lease
    self.superseded = superseded
    self.isOld = isOld
  }
}

/// What a lane does after one of its mutations is dead.
public enum LanePolicy: String, Hashable, Sendable {
  /// The next one is sent.
  case `continue`
  /// The rest waits until somebody retries or discards the dead one.
  case halt
}

/// Whether a newer mutation takes the place of an older one of the same name and lane.
public enum CoalescePolicy: String, Hashable, Sendable {
  /// Each is sent.
  case none
  /// A new one supersedes the last one of its lane, where that was never attempted, and nothing
  /// depends on it. It needs a scope, and is for arguments that carry the whole state: of two partial
  /// edits the first would be lost.
  case latest
}
