public import FoundationEssentials

/// How an attempt ended, as it is recorded.
public enum AttemptOutcome: Sendable {
  /// The server has carried the mutation out.
  case succeeded(SuccessfulAttempt)
  /// The server has not carried it out, or that is unknown.
  case failed(FailedAttempt)
  /// A caller has cancelled the mutation, and the attempt ended: the mutation has ended too.
  case cancelled(maybeApplied: Bool)
}

extension AttemptOutcome {
  /// What it says about the host.
  package var hostReport: HostReport {
    switch self {
    case .succeeded: .answered
    case .failed(let failure): failure.hostReport
    case .cancelled: .nothing
    }
  }
}

/// What a successful attempt leaves behind.
public struct SuccessfulAttempt: Sendable {
  /// The result, coded by the coder of the row; nil if there is none to keep.
  public var result: Data?
  /// What was wrong with the server's answer, if the server has carried the mutation out all the same.
  public var warning: RestoredError?
  /// The aliases that it has published, and their values.
  public var aliases: [String: String]
  /// The paths of the queries that it has made stale.
  public var invalidates: [QueryPath]

  /// Creates an outcome. See the properties for what each is.
  public init(
    result: Data?,
    warning: RestoredError? = nil,
    aliases: [String: String] = [:],
    invalidates: [QueryPath] = []
  ) {
    self.result = result
    self.warning = warning
    self.aliases = aliases
    self.invalidates = invalidates
  }
}

/// What a failed attempt leaves behind.
public struct FailedAttempt: Sendable {
  /// What becomes of the row.
  public enum Next: Sendable {
    /// It is pending, and due at once.
    case now
    /// It is pending, and due after this time.
    case wait(MutationWaitReason, Duration)
    /// It is pending until lanes that wait for credentials are released.
    case waitForCredentials
    /// It is pending until handlers are released: no program could read its arguments.
    case waitForHandler
    /// It is pending until this alias is published; dead if no earlier live mutation can do so.
    case waitForAlias(String)
    /// It is pending, and due after this time, with other arguments and another key. The attempt keeps
    /// the old ones.
    case retry(arguments: Data, key: String, after: Duration)
    /// It is dead.
    case dead(MutationDeadReason)
    /// It has ended, superseded by what the server has.
    case drop
  }

  /// What the attempt failed with.
  public var error: RestoredError
  /// The code of the error: an HTTP status, or that of a `URLError`.
  public var code: Int?
  /// The class of the failure, as `connectivity`.
  public var outcome: String
  /// Whether it counts against `maxAttempts`.
  public var isCharged: Bool
  /// Whether the reason is unknown: such failures are also counted separately.
  public var isUnknown: Bool
  /// Whether the server may have carried the mutation out.
  public var maybeApplied: Bool
  /// What becomes of the row.
  public var next: Next
  /// The beginning of the server's answer, if the error has it: at most 4 KiB.
  public var response: Data?
  /// The version of the arguments of ``Next/retry(arguments:key:after:)``; nil: that of the row.
  public var version: Int?
  /// Which queries are changed with those arguments; nil: those that the row names.
  public var editedPaths: EditedPaths?
  /// The paths of the queries that are stale if the row is dropped, since the server has other values.
  public var invalidates: [QueryPath] = []
  /// What the failure says about the host that the mutation was sent to.
  public var hostReport: HostReport

  /// Creates an outcome. See the properties for what each is.
  public init(
    error: RestoredError,
    code: Int? = nil,
    outcome: String,
    isCharged: Bool,
    isUnknown: Bool = false,
    maybeApplied: Bool,
    next: Next,
    response: Data? = nil,
    version: Int? = nil,
    hostReport: HostReport = .nothing
  ) {
    self.error = error
    self.code = code
    self.outcome = outcome
    self.isCharged = isCharged
    self.isUnknown = isUnknown
    self.maybeApplied = maybeApplied
    self.next = next
    self.response = response
    self.version = version
    self.hostReport = hostReport
  }
}
