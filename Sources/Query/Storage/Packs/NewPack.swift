public import FoundationEssentials

/// A list of queries that is to be kept.
public struct NewPack: Sendable {
  /// The name, canonically composed (NFC), so that equal names are one pack.
  public var name: String { didSet { self.name = self.name.canonicallyComposed } }
  /// When it was kept.
  public var createdAt: Date
  /// When it is to be removed; nil: not by itself.
  public var endsAt: Date?
  /// How old a member's value may become before it is fetched again; nil: any age.
  public var refreshEvery: Duration?
  /// Over which network it is fetched.
  public var network: PackNetwork
  /// The queries, in the order in which they are fetched.
  public var members: [Member]

  /// Creates a list. See the properties for what each is.
  public init(
    name: String, createdAt: Date, endsAt: Date? = nil, refreshEvery: Duration? = nil,
    network: PackNetwork = .any, members: [Member]
  ) {
    self.name = name.canonicallyComposed
    self.createdAt = createdAt
    self.endsAt = endsAt
    self.refreshEvery = refreshEvery
    self.network = network
    self.members = members
  }

  /// A query of a list.
  public struct Member: Hashable, Sendable {
    /// What its entry is stored under.
    public var identity: QueryIdentity
    /// What its request is made of in a later launch; nil: it is made by code.
    public var request: PackedRequest?
    /// How many pages of an infinite query; nil: it is not one.
    public var pages: PackPages?

    /// Creates a member.
    ///
    /// - Parameters:
    ///   - identity: What its entry is stored under.
    ///   - request: What its request is made of in a later launch.
    ///   - pages: How many pages of an infinite query.
    public init(identity: QueryIdentity, request: PackedRequest? = nil, pages: PackPages? = nil) {
      self.identity = identity
      self.request = request
      self.pages = pages
    }
  }
}

/// A request as data.
public struct PackedRequest: Hashable, Sendable {
  /// The name of its type, as the program gives it.
  public var name: String
  /// The request, coded.
  public var data: Data

  /// Creates one of a name and coded bytes.
  public init(name: String, data: Data) {
    self.name = name
    self.data = data
  }
}

/// How many pages of an infinite query a pack keeps.
public enum PackPages: Hashable, Sendable {
  /// All that there are.
  case all
  /// The first ones; 1 or more.
  case first(Int)

  /// As a number in a file: -1 for all.
  package var number: Int {
    switch self {
    case .all: -1
    case .first(let count): count
    }
  }

  package init(number: Int) { self = number > 0 ? .first(number) : .all }
}

/// Over which network a pack is fetched.
public enum PackNetwork: String, Hashable, Sendable {
  /// Any.
  case any
  /// One that does not cost by the byte.
  case unmetered
}
