public import FoundationEssentials

/// How a durable mutation is stored and sent.
///
/// ```swift
/// let rename = RenameNote().persisted(
///   as: "rename-note", .init(scope: .by { "note-\($0.id)" }, maxAttempts: 10))
/// ```
/// `scope`, `onFailure`, `maxAttempts`, `maxAge`, `coalesce`, `host`, `bodies` and `priority` are fixed in
/// the row of a mutation when it is enqueued; the rest comes from the program that sends it, perhaps a later
/// release.
public struct MutationPersistenceOptions<Arguments: Sendable>: Sendable {
  /// The lane: mutations of one lane are sent one after another.
  public var scope: MutationScope<Arguments>

  /// What a lane does after one of its mutations is dead.
  public var onFailure: LanePolicy

  /// After so many failures in which the server was reached, a mutation is dead; nil: never.
  public var maxAttempts: Int?

  /// After this time a mutation that was not sent is dead; nil: never.
  public var maxAge: Duration?

  /// Whether a newer mutation takes the place of an older one that was never tried.
  public var coalesce: CoalescePolicy

  /// The version of the arguments' coded form.
  public var version: Int

  /// Codes arguments and results.
  public var coder: any QueryCoder

  /// Upgrades coded arguments from the given older version to ``version``. Without it, rows of
  /// another version wait for a program that knows them.
  public var upgrade: (@Sendable (Data, Int) throws -> Data)?

  /// Says what to do about an error; nil, or a nil answer, leaves it to the library. If it throws,
  /// the failure counts as ``MutationFailure/transient(retryAfter:)``.
  public var classify: (@Sendable (any Error, MutationAttempt) throws -> MutationFailure?)?

  /// Says what to do about a conflict; nil: the mutation is dead. An error that it throws is
  /// classified in place of the conflict. It may take as long as an attempt: ``attemptTimeout``.
  public var onConflict:
    (@Sendable (Arguments, any Error, QueryContext) async throws -> ConflictResolution<Arguments>)?

  /// The path prefixes of the queries that a success makes stale.
  public var invalidates: (@Sendable (Arguments) -> [QueryPath])?

  /// The host that a mutation is sent to, by which attempts are limited and probed; nil, or a nil
  /// answer: the mutation's name counts as one.
  public var host: (@Sendable (Arguments) -> String?)?

  /// How long one attempt may take; nil: as long as it likes. Its task is cancelled then, and the attempt
  /// fails with ``QueryTimeoutError``, which counts as a lost answer. A handler that goes on all the same
  /// is left behind after five seconds, as after any cancellation.
  public var attemptTimeout: Duration?

  /// The files that go with a mutation, such as a photo to upload: each is copied beside the outbox
  /// before the mutation is committed, and may be changed or removed as soon as that is done. The
  /// mutation reads the copies by ``MutationAttempt/bodies()``; they are removed when it has ended.
  /// Nil: it has none.
  public var bodies: (@Sendable (Arguments) -> [URL])?

  /// How urgent its mutations are: see ``MutationPriority``.
  public var priority: MutationPriority

  /// Creates options. See the properties for what each is.
  public init(
    scope: MutationScope<Arguments> = .none,
    onFailure: LanePolicy = .continue,
    maxAttempts: Int? = nil,
    maxAge: Duration? = nil,
    coalesce: CoalescePolicy = .none,
    version: Int = 1,
    coder: any QueryCoder = .json,
    upgrade: (@Sendable (Data, Int) throws -> Data)? = nil,
    classify: (@Sendable (any Error, MutationAttempt) throws -> MutationFailure?)? = nil,
    onConflict: (
      @Sendable (Arguments, any Error, QueryContext) async throws -> ConflictResolution<Arguments>
    )? = nil,
    invalidates: (@Sendable (Arguments) -> [QueryPath])? = nil,
    host: (@Sendable (Arguments) -> String?)? = nil,
    attemptTimeout: Duration? = nil,
    bodies: (@Sendable (Arguments) -> [URL])? = nil,
    priority: MutationPriority = .normal
  ) {
    self.scope = scope
    self.onFailure = onFailure
    self.maxAttempts = maxAttempts
    self.maxAge = maxAge
    self.coalesce = coalesce
    self.version = version
    self.coder = coder
    self.upgrade = upgrade
    self.classify = classify
    self.onConflict = onConflict
    self.invalidates = invalidates
    self.host = host
    self.attemptTimeout = attemptTimeout
    self.bodies = bodies
    self.priority = priority
  }
}
