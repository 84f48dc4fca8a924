public import FoundationEssentials

/// Which mutations a process wants to run.
public struct ClaimRequest: Sendable {
  /// Which rows to claim.
  public enum Target: Sendable {
    /// Rows that one of these handlers can run: first those that were never tried, the lowest number
    /// first; then those that were, the one that is due longest first.
    case lowest(handledBy: Set<MutationHandler>)
    /// A row that the caller can run.
    case mutation(UUID)
  }

  /// Which rows to claim.
  public var target: Target
  /// How many at most.
  public var limit: Int
  /// How many for each host at most.
  public var hostSlots: HostSlots
  /// The only lane to claim from with ``ClaimRequest/Target/lowest(handledBy:)``; nil: rows of any
  /// lane, and those without one.
  public var lane: String? { didSet { self.lane = self.lane?.canonicallyComposed } }
  /// How many rows of a lane may be leased together for a handler: its first, and those right behind it
  /// that this handler can run as well, have the same host, wait for nothing else, and have never failed.
  /// They count as one, for ``limit`` and ``hostSlots``, and their leases follow one another. Of handlers
  /// that are not named here, rows are leased one by one. An outbox that leases one by one all the same
  /// is right.
  public var batchLimits: [MutationHandler: Int]

  /// Creates a request. See the properties for what each is.
  public init(
    _ target: Target,
    limit: Int = 1,
    hostSlots: HostSlots = HostSlots(others: .max),
    lane: String? = nil,
    batchLimits: [MutationHandler: Int] = [:]
  ) {
    self.target = target
    self.limit = limit
    self.hostSlots = hostSlots
    self.lane = lane?.canonicallyComposed
    self.batchLimits = batchLimits
  }

  /// How many rows of the lane of one may be leased with it at most; 0: none.
  package func followers(of entry: OutboxEntry) -> Int {
    guard entry.lane != nil else { return 0 }
    let limits = self.batchLimits.filter { $0.key.canRun(entry) }.values
    return max((limits.max() ?? 1) - 1, 0)
  }
}

/// A handler that can run mutations: a registered name, for one instance and one version.
public struct MutationHandler: Hashable, Sendable {
  /// The name that the mutation was persisted as, canonically composed (NFC).
  public var name: String { didSet { self.name = self.name.canonicallyComposed } }
  /// The instance of the request: its path's canonical text without the names of types.
  public var instance: String
  /// The version of the arguments that it accepts.
  public var version: Int
  /// Whether it upgrades the arguments of older versions.
  public var upgradesOlder: Bool

  /// Creates a handler. See the properties for what each is.
  public init(name: String, instance: String, version: Int, upgradesOlder: Bool) {
    self.name = name.canonicallyComposed
    self.instance = instance
    self.version = version
    self.upgradesOlder = upgradesOlder
  }

  /// Whether it can run what another handler can.
  package func includes(_ other: MutationHandler) -> Bool {
    self.name == other.name && self.instance == other.instance
      && (self.version == other.version || self.upgradesOlder && other.version < self.version)
  }

  /// Whether it can run a row.
  public func canRun(_ entry: OutboxEntry) -> Bool {
    self.name == entry.name && self.instance == entry.instance
      && (self.version == entry.version || self.upgradesOlder && entry.version < self.version)
  }
}

/// How many mutations may be leased for each host.
public struct HostSlots: Hashable, Sendable {
  /// The number for these hosts.
  public var slots: [String: Int]
  /// The number for any other one.
  public var others: Int
  /// Hosts of which one mutation that was tried before goes ahead of those that never were: those
  /// must not wait for an end of the others.
  public var repeatsFirst = Set<String>()

  /// Creates slots. See the properties for what each is.
  public init(_ slots: [String: Int] = [:], others: Int) {
    self.slots = slots
    self.others = others
  }

  /// The number for a host.
  public subscript(host: String) -> Int {
    get { self.slots[host] ?? self.others }
    set { self.slots[host] = newValue }
  }
}

/// What a claim has got.
public struct ClaimAnswer: Sendable {
  /// The leases, in the order in which the rows were taken.
  public var leases: [MutationLease]
  /// How long until another row of these handlers becomes due, or a lease of another process ends;
  /// nil: not before something changes. One that got as many as it asked for need not tell when rows become due:
  /// what it got has to end first.
  public var nextDue: Duration?
  /// How many rows this process has declared dead since its last claim, because they grew too old.
  public var expired: Int
  /// Whether there was more to look at than one claim looks at, so that another one may find what this one has
  /// not: it follows at once.
  public var isPartial = false

  /// Creates an answer. See the properties for what each is.
  public init(leases: [MutationLease] = [], nextDue: Duration? = nil, expired: Int = 0) {
    self.leases = leases
    self.nextDue = nextDue
    self.expired = expired
  }
}

extension OutboxEntry {
  /// The host that counts: the row's own, or the name in a form that cannot be a host.
  public var effectiveHost: String { self.host ?? "name:\(self.name)" }
}

extension NewMutation {
  /// The host that counts, as `OutboxEntry` has it.
  package var effectiveHost: String { self.host ?? "name:\(self.name)" }
}

extension MutationHandler {
  /// What tells mutations apart, whatever the version of their arguments.
  struct Key: Hashable, Sendable {
    let name: String
    let instance: String
  }

  var key: Key { Key(name: self.name, instance: self.instance) }
}
