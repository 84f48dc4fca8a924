public import FoundationEssentials

/// A pack as a storage has it.
public struct StoredPack: Hashable, Sendable {
  /// What tells it from a later pack of the same name.
  public var id: UUID
  /// The name.
  public var name: String
  /// When it was kept, for the first time.
  public var createdAt: Date
  /// When it is to be removed; nil: not by itself.
  public var endsAt: Date?
  /// How old a member's value may become before it is fetched again; nil: any age.
  public var refreshEvery: Duration?
  /// Over which network it is fetched.
  public var network: PackNetwork
  /// How far it is.
  public var counts = Counts()
  /// What the first of its failed members failed with.
  public var failure: String?

  /// Creates a pack. See the properties for what each is.
  public init(
    id: UUID, name: String, createdAt: Date, endsAt: Date?, refreshEvery: Duration?,
    network: PackNetwork
  ) {
    self.id = id
    self.name = name
    self.createdAt = createdAt
    self.endsAt = endsAt
    self.refreshEvery = refreshEvery
    self.network = network
  }

  /// How far a pack is.
  public struct Counts: Hashable, Sendable {
    /// How many members wait to be fetched, or are being fetched for the first time.
    public var waiting = 0
    /// How many have their value in the storage.
    public var done = 0
    /// How many failed and are there no value of.
    public var failed = 0
    /// How many wait for the code that makes their request.
    public var unregistered = 0
    /// How many are being fetched, by any process.
    public var claimed = 0
    /// How many bytes their entries had when they were last fetched.
    public var bytes = 0
    /// When the oldest of those that are there was fetched.
    public var oldest: Date?

    /// Creates counts of nothing.
    public init() {}

    /// How many members there are.
    public var total: Int { self.waiting + self.done + self.failed + self.unregistered }
  }
}

extension StoredPack {
  /// Whether it is to be removed by now.
  package func hasEnded(by date: Date) -> Bool { self.endsAt.map { $0 <= date } ?? false }

  /// When a member is next fetched again; nil: not by itself.
  var nextRefresh: Date? {
    guard let refreshEvery, let oldest = self.counts.oldest else { return nil }
    return oldest.addingTimeInterval(refreshEvery / .seconds(1))
  }
}

/// A pack, and the room that all packs have.
public struct PackStanding: Hashable, Sendable {
  /// The pack.
  public var pack: StoredPack
  /// The room.
  public var room: PackRoom
  /// After results: what was released since its value is not there.
  public var missing = [QueryIdentity]()

  /// Puts both together.
  public init(pack: StoredPack, room: PackRoom) {
    self.pack = pack
    self.room = room
  }
}

/// The room that the packs of an account have.
public struct PackRoom: Hashable, Sendable {
  /// How many bytes the packs have, each query counted once.
  public var used: Int
  /// How many they may have.
  public var limit: Int

  /// Creates it of what is used, and what may be.
  public init(used: Int, limit: Int) {
    self.used = used
    self.limit = limit
  }

  /// How many members of a pack may be fetched now, so that what is fetched is not more than the room
  /// takes. Of a pack of which nothing is known it is one, and so it is while more than a tenth of all room
  /// is left, however large those are that were fetched: the next ones may be small.
  ///
  /// - Parameters:
  ///   - count: How many are wanted.
  ///   - counts: How far the pack is.
  public func allowance(_ count: Int, for counts: StoredPack.Counts) -> Int {
    if self.used >= self.limit { return 0 }
    guard counts.done > 0, counts.bytes > 0 else {
      return counts.claimed > 0 ? 0 : min(count, 1 + counts.failed)
    }
    let average = max(counts.bytes / counts.done, 1)
    let rest = self.limit - self.used
    let least = counts.claimed == 0 && rest > self.limit / 10 ? 1 : 0
    return min(count, max(rest / average - counts.claimed, least))
  }

  /// How many bytes all packs would need if the rest of a pack is like what is there of it.
  func need(for counts: StoredPack.Counts) -> Int {
    let average = counts.done > 0 ? counts.bytes / counts.done : 0
    let rest = average.multipliedReportingOverflow(by: counts.waiting)
    let sum = self.used.addingReportingOverflow(rest.partialValue)
    return rest.overflow || sum.overflow ? .max : max(sum.partialValue, self.limit + 1)
  }
}
