public import FoundationEssentials

extension QueryClient {
  /// The packs that are kept in the client's storage: the one that it had when this was first used.
  ///
  /// Without a storage there are none, and what throws throws ``PackError/noStorage``.
  public var packs: OfflinePacks {
    OfflinePacks(coordinator: self.extras.value { PackCoordinator(self) })
  }

  /// Keeps queries on this machine, whole, so that they are there without a network.
  ///
  /// ```swift
  /// let pack = try await client.keep("area-7", refreshEvery: .seconds(3_600)) {
  ///   NotesQuery(area: 7).pages(.all)
  ///   for id in ids { PhotoQuery(id: id) }
  /// }
  /// try await pack.whole()
  /// ```
  /// It returns when the list is on disk, and fetches in the background what is not there yet, or stale.
  /// A pack outlives the process: at the next launch ``OfflinePacks/resume()`` goes on with what is
  /// missing, or the same call does. None of its queries is evicted until it is removed; a query in two
  /// packs stays until both are. Each is ``QueryRequest/persisted(_:)``, if it does not say so itself:
  /// give it the options that its stores elsewhere have.
  ///
  /// If the name has a list, this one takes its place: what is in both is not fetched again.
  ///
  /// - Parameters:
  ///   - name: The name of the pack.
  ///   - end: When it is removed.
  ///   - refreshEvery: How old a value may become before it is fetched again, while the client lives; nil:
  ///     any age.
  ///   - network: Over which network it is fetched.
  ///   - members: The queries.
  /// - Returns: The pack.
  /// - Throws: ``PackError``, ``QueryIdentityError``, ``StorageError``: then the name has what it had.
  ///   `CancellationError` if the task was cancelled before.
  @discardableResult
  public func keep(
    _ name: String,
    until end: PackEnd = .removed,
    refreshEvery: Duration? = nil,
    network: PackNetwork = .any,
    @PackBuilder _ members: () throws -> [PackMember]
  ) async throws -> OfflinePack {
    guard self.defaultContext.queryStorage != nil else { throw PackError.noStorage }
    if network == .unmetered,
      !(self.defaultContext.networkObserver is any NetworkCostObserver)
    {
      throw PackError.networkCostUnknown(pack: name)
    }
    let list = try PackList(try members(), in: name, of: self)
    let pack = NewPack(
      name: name, createdAt: self.defaultContext.queryClock.now(), endsAt: end.date,
      refreshEvery: refreshEvery, network: network, members: list.members)
    try Task.checkCancellation()
    return try await self.packs.coordinator.keep(pack, list.code, self.packs)
  }
}

/// When a pack is removed.
public enum PackEnd: Hashable, Sendable {
  /// When the program removes it.
  case removed
  /// At a date, by the clock of the client's context, or when the program removes it. The first
  /// ``OfflinePacks/resume()`` after the date does it.
  case date(Date)

  fileprivate var date: Date? {
    if case .date(let date) = self { return date }
    return nil
  }
}

/// The members of a list, each once.
struct PackList {
  private(set) var members = [NewPack.Member]()
  private(set) var code = [QueryIdentity: PackMember]()

  /// - Throws: ``PackError/differingPages(pack:member:)``, ``QueryIdentityError``, what coding a request
  ///   throws.
  init(_ members: [PackMember], in pack: String, of client: QueryClient) throws {
    for member in members {
      let identity = try member.identity(client)
      if let first = self.code[identity] {
        if first.pages == member.pages { continue }
        throw PackError.differingPages(pack: pack, member: identity)
      }
      self.code[identity] = member
      self.members.append(
        NewPack.Member(identity: identity, request: try member.request(), pages: member.pages))
    }
  }
}
