/// One fetch of an infinite query: decides which page or pages to fetch, and fetches them.
@usableFromInline
struct InfiniteQueryFetch<Query: InfiniteQueryRequest>: Sendable {
  @usableFromInline typealias Value = InfiniteQueryValue<Query.PageID, Query.PageValue>
  @usableFromInline typealias Page = InfiniteQueryPage<Query.PageID, Query.PageValue>
  @usableFromInline typealias Paging = InfiniteQueryPaging<Query.PageID, Query.PageValue>
  @usableFromInline typealias Request = InfiniteQueryPagingRequest<Query.PageID>
  @usableFromInline typealias Pages = InfiniteQueryPages<Query.PageID, Query.PageValue>

  @usableFromInline let query: Query
  @usableFromInline let context: QueryContext
  @usableFromInline let continuation: QueryContinuation<Value>

  @inlinable
  init(query: Query, context: QueryContext, continuation: QueryContinuation<Value>) {
    self.query = query
    self.context = context
    self.continuation = continuation
  }

  @inlinable
  func run() async throws -> Value {
    guard let store = self.context.currentStore(of: Query.State.self) else {
      return try await self.fetchInitialPage([])
    }
    // The stored pages come first: this would take the list for empty, and what it brings for all of it.
    if store.isHydrating {
      await store.hydrated()
      try Task.checkCancellation()
    }
    // Decided now and not when the fetch was scheduled: what it waited for may have loaded pages.
    let (target, position) = try await self.begin(in: store)
    switch target.request {
    case .initialPage?: return try await self.fetchInitialPage(position.pages)
    case .nextPage(let id)?:
      return try await self.fetchNextPage(id, after: target.neighbourId, position.pages)
    case .previousPage(let id)?:
      return try await self.fetchPreviousPage(id, before: target.neighbourId, position.pages)
    case .allPages?: return try await self.fetchAllPages(position.pages)
    case nil:
      return Value(
        fetchValue: .allPages(position.pages),
        nextPageId: position.nextPageId,
        after: position.pages.last?.id,
        previousPageId: position.previousPageId,
        before: position.pages.first?.id,
        isUnchanged: true
      )
    }
  }

  /// Decides what to fetch, after the fetches at work that this one may not run beside.
  @inlinable
  func begin(
    in store: QueryStore<Query.State>
  ) async throws -> (PageTarget<Query.PageID>, PagePosition<Query.PageID, Query.PageValue>) {
    let (kind, work) = (self.context.infiniteFetchKind, self.context.fetchWork)
    var ignored = Set<QueryTaskIdentifier>()
    var before: (Int, Int)?
    while true {
      let (target, position, others) = try store.withLock {
        // A reset has taken it that came while it waited, and may not have told it yet.
        let generations = (store.generation, work?.generation ?? 0)
        if let before, before != generations { throw CancellationError() }
        before = generations
        let (target, position) = store._state.target(for: kind, of: work)
        guard let work else { return (target, position, [QueryTask<Value>]()) }
        let others = store._state.tasks(atWorkThatExclude: target.request, of: work)
          .filter { !ignored.contains($0.id) }
        // Only a fetch at work is waited for, so those that wait cannot wait for one another.
        work.pagingRequest = others.isEmpty ? target.request : nil
        if kind.isOnePage, others.isEmpty, target.request != nil { work.pageTarget = target }
        return (target, position, others)
      }
      guard let work, !others.isEmpty else { return (target, position) }
      ignored.formUnion(try await QueryTask.wait(of: work, forAll: others))
    }
  }
}

// MARK: - One page

extension InfiniteQueryFetch {
  @inlinable
  func fetchInitialPage(_ pages: Pages) async throws -> Value {
    let paging = Paging(pageId: self.query.initialPageId, pages: pages, request: .initialPage)
    return try await self.fetchPage(paging) { page in
      Value(
        fetchValue: .initialPage(page),
        nextPageId: self.nextId(after: page, using: paging),
        after: page.id,
        previousPageId: self.previousId(before: page, using: paging),
        before: page.id
      )
    }
  }

  @inlinable
  func fetchNextPage(
    _ id: Query.PageID, after lastPageId: Query.PageID?, _ pages: Pages
  ) async throws -> Value {
    guard let lastPageId else { return try await self.fetchInitialPage(pages) }
    let paging = Paging(pageId: id, pages: pages, request: .nextPage(id))
    let position = PagePosition(pages: pages)
    return try await self.fetchPage(paging) { page in
      let first = position.firstPage(afterAdding: id, keeping: self.context.maxPages) ?? page
      return Value(
        fetchValue: .nextPage(Value.NextPage(page: page, lastPageId: lastPageId)),
        nextPageId: self.nextId(after: page, using: paging),
        after: page.id,
        previousPageId: self.previousId(before: first, using: paging),
        before: first.id
      )
    }
  }

  @inlinable
  func fetchPreviousPage(
    _ id: Query.PageID, before firstPageId: Query.PageID?, _ pages: Pages
  ) async throws -> Value {
    guard let firstPageId else { return try await self.fetchInitialPage(pages) }
    let paging = Paging(pageId: id, pages: pages, request: .previousPage(id))
    let position = PagePosition(pages: pages)
    return try await self.fetchPage(paging) { page in
      let last = position.lastPage(afterAdding: id, keeping: self.context.maxPages) ?? page
      return Value(
        fetchValue: .previousPage(Value.PreviousPage(page: page, firstPageId: firstPageId)),
        nextPageId: self.nextId(after: last, using: paging),
        after: last.id,
        previousPageId: self.previousId(before: page, using: paging),
        before: page.id
      )
    }
  }

  /// The page after another one. A page that names itself, as at the end of a server which repeats its last
  /// cursor, has none: a loop that fetches page after page would never end.
  @inlinable
  func nextId(after page: Page, using paging: Paging) -> Query.PageID? {
    let id = self.query.pageId(after: page, using: paging, in: self.context)
    return id == page.id ? nil : id
  }

  /// The page before another one, by the same rule.
  @inlinable
  func previousId(before page: Page, using paging: Paging) -> Query.PageID? {
    let id = self.query.pageId(before: page, using: paging, in: self.context)
    return id == page.id ? nil : id
  }

  @inlinable
  func fetchPage(
    _ paging: Paging,
    _ value: @escaping @Sendable (Page) -> Value
  ) async throws -> Value {
    let fetch = PageFetch(query: self.query, paging: paging, context: self.context)
    let page = try await fetch.run(yieldingTo: self.continuation, value)
    if self.context.infiniteFetchKind.isOnePage, let work = self.context.fetchWork {
      // A modifier that fetches twice goes on behind it.
      self.context.currentStore(of: Query.State.self)?.withLock {
        (work.pageTarget, work.hasYieldedPage) = (nil, false)
      }
    }
    return value(page)
  }
}

// MARK: - All pages

extension InfiniteQueryFetch {
  @usableFromInline typealias Tracker = AllPagesTracker<Query.PageID, Query.PageValue>

  @inlinable
  func fetchAllPages(_ pages: Pages) async throws -> Value {
    // An attempt that was tried again goes on after the last page that it fetched.
    let tracker = self.context.allPagesTracker as? Tracker ?? Tracker()
    // Between two pages only the tracker holds its list, so adding does not copy it.
    let limit = self.context.maxPages ?? .max
    while let page = try await self.fetchPage(
      after: tracker.progress(startingWith: pages, keeping: limit))
    {
      tracker.add(page)
      // An attempt that was abandoned, or a fetch that all have left, asks for no more.
      try Task.checkCancellation()
    }
    return self.allPagesValue(of: tracker.finish(startingWith: pages, keeping: limit))
  }

  /// Fetches the page after those fetched so far, if there is one.
  @inlinable
  func fetchPage(after progress: Tracker.Progress) async throws -> Page? {
    let pages = progress.pages
    // Pages that follow one another in a circle would never end.
    guard let id = self.pageId(after: progress), !pages.contains(id: id) else { return nil }
    let paging = Paging(pageId: id, pages: pages, request: .allPages)
    let fetch = PageFetch(query: self.query, paging: paging, context: self.context)
    return try await fetch.run(yieldingTo: self.continuation) { page in
      var fetched = progress
      fetched.pages.append(page)
      return self.allPagesValue(of: fetched)
    }
  }

  @inlinable
  func pageId(after progress: Tracker.Progress) -> Query.PageID? {
    if progress.isFull { return nil }
    guard let last = progress.pages.last else { return progress.firstPageId }
    let paging = Paging(pageId: last.id, pages: progress.pages, request: .allPages)
    return self.nextId(after: last, using: paging)
  }

  @inlinable
  func allPagesValue(of progress: Tracker.Progress) -> Value {
    let pages = progress.pages
    guard let first = pages.first, let last = pages.last else {
      return Value(
        fetchValue: .allPages(pages),
        nextPageId: nil,
        after: nil,
        previousPageId: nil,
        before: nil
      )
    }
    let paging = Paging(pageId: last.id, pages: pages, request: .allPages)
    return Value(
      fetchValue: .allPages(pages),
      nextPageId: self.nextId(after: last, using: paging),
      after: last.id,
      previousPageId: self.previousId(before: first, using: paging),
      before: first.id,
      loadedLastPageId: progress.lastPageId
    )
  }
}
