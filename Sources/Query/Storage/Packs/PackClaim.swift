public import FoundationEssentials

/// What a process wants to fetch of a pack.
public struct PackClaimRequest: Sendable {
  /// The pack.
  public var id: UUID
  /// How many members at most.
  public var count: Int
  /// The date of now. A claim of a process that seems to live counts for ten minutes.
  public var now: Date
  /// Whether this process has code that an earlier one had not.
  public var includesUnregistered: Bool

  /// Creates a request. See the properties for what each is.
  public init(id: UUID, count: Int, now: Date, includesUnregistered: Bool = false) {
    self.id = id
    self.count = count
    self.now = now
    self.includesUnregistered = includesUnregistered
  }

  /// How long a claim counts: a process that was stopped may never settle it.
  package static let claimDuration = Duration.seconds(600)
}

/// Members of a pack that this process fetches.
public struct PackClaim: Sendable {
  /// The pack after the claim, and the room.
  public var standing: PackStanding
  /// The members. None: nothing is to be fetched now, others fetch the rest, or there is no room.
  public var members: [Member]

  /// Creates a claim.
  public init(standing: PackStanding, members: [Member]) {
    self.standing = standing
    self.members = members
  }

  /// A member that this process fetches.
  public struct Member: Hashable, Sendable {
    /// What its entry is stored under.
    public var identity: QueryIdentity
    /// What its request is made of; nil: it is made by code.
    public var request: PackedRequest?
    /// How many pages of an infinite query; nil: it is not one.
    public var pages: PackPages?
    /// When it was claimed before, if that led to no end: a value that is newer need not be fetched, and
    /// pages that are newer are not fetched again. nil: it was not.
    public var begunAt: Date?
    /// Whether it is there, and is fetched again.
    public var isRefresh: Bool

    /// Creates a member. See the properties for what each is.
    public init(
      identity: QueryIdentity, request: PackedRequest?, pages: PackPages?, begunAt: Date?,
      isRefresh: Bool
    ) {
      self.identity = identity
      self.request = request
      self.pages = pages
      self.begunAt = begunAt
      self.isRefresh = isRefresh
    }
  }
}

/// What became of a member that was claimed.
public struct PackResult: Sendable {
  /// What its entry is stored under.
  public var identity: QueryIdentity
  /// How many pages were claimed of it; nil: it is not an infinite query.
  ///
  /// If the list has other ones by now, because it was kept again meanwhile, nothing that ends the claim
  /// says anything of those: the member counts as ``Outcome/released``.
  public var pages: PackPages?
  /// What became of it.
  public var outcome: Outcome
  /// Whether the member is released, rather than failed, if it was fetched and its value is not there: then
  /// it is fetched again. It is among ``PackStanding/missing``. False by default.
  public var isReleasedIfMissing = false

  /// Creates a result of a query without pages.
  public init(identity: QueryIdentity, outcome: Outcome) {
    self.identity = identity
    self.outcome = outcome
  }

  /// Creates a result of a member, as it was claimed.
  public init(of member: PackClaim.Member, _ outcome: Outcome) {
    self.init(identity: member.identity, outcome: outcome)
    self.pages = member.pages
  }

  /// What is recorded, if the list has so many pages now.
  package func outcome(ifListHas pages: PackPages?) -> Outcome {
    if self.outcome == .underWay || self.pages == pages { return self.outcome }
    return .released
  }

  /// What became of a member.
  public enum Outcome: Hashable, Sendable {
    /// It was fetched. The storage looks whether its value is there; if it is not, the member has failed, or
    /// is released: see ``PackResult/isReleasedIfMissing``.
    case fetched
    /// Some of its pages were fetched, and the rest is being fetched.
    case underWay
    /// It was not fetched, for this reason.
    case failed(String)
    /// This process has no code for it.
    case unregistered
    /// It was given up before its end.
    case released
  }

  /// Why not all of a member could be fetched again.
  package static let noRoom = """
    the packs have all the bytes that they may: there is no room for more pages
    """

  /// Why a member that was fetched has failed.
  package static let notStored = """
    its value is not in the storage: it is too large, could not be coded, or was removed meanwhile
    """
}
