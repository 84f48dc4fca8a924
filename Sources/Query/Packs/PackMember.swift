import FoundationEssentials

/// A query of a pack, as ``PackBuilder`` makes it of a request.
public struct PackMember: Sendable {
  let pages: PackPages?
  /// The request as data; nil: it is made by code.
  let request: @Sendable () throws -> PackedRequest?
  let identity: @Sendable (QueryClient) throws -> QueryIdentity
  let fetch: @Sendable (QueryClient, PackFetch) async throws -> Void
}

/// What the fetch of a member goes by.
struct PackFetch: Sendable {
  let identity: QueryIdentity
  /// How many pages the list has now: another process may have kept it since its code was given here.
  let pages: PackPages?
  /// When it was claimed first, if that led to no end.
  let begunAt: Date?
  /// Whether it is there, and is fetched again.
  let isRefresh: Bool
  /// Whether it is fetched whatever a store has: what that has is not on disk.
  let isForced: Bool
  /// Called before each page: throws if no more is to be fetched over this network.
  let requireNetwork: @Sendable () throws -> Void
  /// Called after some pages: makes sure that they are stored and, if more are wanted, that there is room
  /// for those.
  let didFetchPages: @Sendable (_ wantsMore: Bool) async throws -> Void

  /// How many pages are fetched between two calls of ``didFetchPages``.
  static let pagesPerStep = 8

  /// Whether a value need not be fetched.
  func isEnough(updatedAt date: Date?, isStale: Bool) -> Bool {
    guard let date, !self.isRefresh, !self.isForced else { return false }
    return !isStale || self.isContinued(from: date)
  }

  /// Whether a value came since the pack first wanted it.
  func isContinued(from date: Date?) -> Bool {
    guard let date, let begunAt, !self.isRefresh, !self.isForced else { return false }
    return date >= begunAt
  }
}

// MARK: - Making one

extension PackMember {
  /// - Parameter initialState: The state of a store that has no value.
  init<Query: QueryRequest>(
    _ query: Query, initialState: @escaping @Sendable () -> Query.State
  ) where Query.State: PersistableQueryState {
    let persisted = query.persisted()
    self.init(
      pages: nil,
      request: { try (query as? any PackableRequest)?.packed },
      identity: { try $0.packIdentity(of: persisted) },
      fetch: { client, fetch in
        let (store, isOwn) = client.packStore(for: persisted, fetch.identity, initialState)
        defer { if isOwn { store.endControllers() } }
        await store.hydrated()
        try Task.checkCancellation()
        if fetch.isEnough(updatedAt: store.valueLastUpdatedAt, isStale: store.isStale) { return }
        try await store.fetch()
      })
  }

  init<Query: InfiniteQueryRequest>(
    _ query: Query, _ pages: PackPages
  ) where Query.State: PersistableQueryState {
    let persisted = query.persisted()
    self.init(
      pages: pages,
      request: { try (query as? any PackableRequest)?.packed },
      identity: { try $0.packIdentity(of: persisted) },
      fetch: { client, fetch in
        let (store, isOwn) = client.packStore(for: persisted, fetch.identity) {
          InfiniteQueryState(initialValue: [], initialPageId: query.initialPageId)
        }
        defer { if isOwn { store.endControllers() } }
        await store.hydrated()
        try Task.checkCancellation()
        try await store.fetchPages(fetch.pages ?? pages, fetch)
      })
  }
}

extension QueryStore where State: _InfiniteQueryStateProtocol {
  /// Fetches the pages that a pack wants, and those that are old.
  fileprivate func fetchPages(_ wanted: PackPages, _ fetch: PackFetch) async throws {
    let limit =
      switch wanted {
      case .all: Int.max
      case .first(let count): count
      }
    let isContinued = fetch.isContinued(from: self.valueLastUpdatedAt)
    if self.pageCount > 0, !isContinued, fetch.isRefresh || fetch.isForced || self.isStale {
      try await self.fetchAllPages()
      try await fetch.didFetchPages(self.pageCount < limit && self.hasPageToCome)
    }
    var count = self.pageCount
    var sinceStep = 0
    while count < limit, self.hasPageToCome {
      try fetch.requireNetwork()
      guard try await self.fetchNextPage() != nil else { return }
      // Pages that follow one another in a circle, or of which a modifier keeps only some.
      if self.pageCount <= count { return }
      count = self.pageCount
      sinceStep += 1
      if sinceStep.isMultiple(of: PackFetch.pagesPerStep) {
        try await fetch.didFetchPages(count < limit && self.hasPageToCome)
      }
      try Task.checkCancellation()
    }
  }

  private var pageCount: Int { self.currentValue.count }
  private var hasPageToCome: Bool { self.withLock { self._state.hasNextPage } }
}

// MARK: - Stores

extension QueryClient {
  /// What a request is stored under.
  ///
  /// - Throws: ``QueryIdentityError``.
  fileprivate func packIdentity<Query: QueryRequest>(of query: Query) throws -> QueryIdentity {
    var context = self.defaultContext
    query.setup(context: &context)
    guard let plan = context.persistencePlan else { return try QueryIdentity(path: query.path) }
    return try plan.identity(of: query.path) { query._debugTypeName }
  }

  /// The store of a member: the client's, so that a view of it sees it fetched; or one that the client
  /// does not keep, since a pack may have more members than fit into memory, or since the client's is one that
  /// is not written, as after an erasure.
  fileprivate func packStore<Query: QueryRequest>(
    for query: Query, _ identity: QueryIdentity, _ initialState: () -> Query.State
  ) -> (store: QueryStore<Query.State>, isOwn: Bool) {
    if let kept = self.store(with: query.path)?.base as? QueryStore<Query.State>,
      kept.withLock({ kept.storing?.isWritten == true && kept.storing?.identity == identity })
    {
      return (kept, false)
    }
    return (self.create(query, at: query.path, initialState: initialState()), true)
  }
}
