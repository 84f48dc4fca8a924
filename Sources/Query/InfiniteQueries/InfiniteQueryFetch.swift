/// One fetch of an infinite query: decides which page or pages to fetch, and fetches them.
@usableFromInline
struct InfiniteQueryFetch<Query: InfiniteQueryRequest>: Sendable {
  @usableFromInline typealias Value = InfiniteQueryValue<Query.PageID, Query.PageValue>
  @usableFromInline typealias Page = InfiniteQueryPage<Query.PageID, Query.PageValue>
  @usableFromInline typealias Paging = InfiniteQueryPaging<Query.PageID, Query.PageValue>
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
    // Decided now and not when the fetch was scheduled: what it waited for may have loaded pages.
    let position: PagePosition = store.pagePosition()
    switch position.request(for: self.context.infiniteFetchKind) {
    case .initialPage?: return try await self.fetchInitialPage(position.pages)
    case .nextPage(let id)?: return try await self.fetchNextPage(id, position.pages)
    case .previousPage(let id)?: return try await self.fetchPreviousPage(id, position.pages)
    case .allPages?: return try await self.fetchAllPages(position.pages)
    case nil:
      return Value(
        fetchValue: .allPages(position.pages),
        nextPageId: position.nextPageId,
        previousPageId: position.previousPageId,
        isUnchanged: true
      )
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
        nextPageId: self.query.pageId(after: page, using: paging, in: self.context),
        previousPageId: self.query.pageId(before: page, using: paging, in: self.context)
      )
    }
  }

  @inlinable
  func fetchNextPage(_ id: Query.PageID, _ pages: Pages) async throws -> Value {
    guard let first = pages.first, let last = pages.last else {
      return try await self.fetchInitialPage(pages)
    }
    let paging = Paging(pageId: id, pages: pages, request: .nextPage(id))
    return try await self.fetchPage(paging) { page in
      Value(
        fetchValue: .nextPage(Value.NextPage(page: page, lastPageId: last.id)),
        nextPageId: self.query.pageId(after: page, using: paging, in: self.context),
        previousPageId: self.query.pageId(before: first, using: paging, in: self.context)
      )
    }
  }

  @inlinable
  func fetchPreviousPage(_ id: Query.PageID, _ pages: Pages) async throws -> Value {
    guard let first = pages.first, let last = pages.last else {
      return try await self.fetchInitialPage(pages)
    }
    let paging = Paging(pageId: id, pages: pages, request: .previousPage(id))
    return try await self.fetchPage(paging) { page in
      Value(
        fetchValue: .previousPage(Value.PreviousPage(page: page, firstPageId: first.id)),
        nextPageId: self.query.pageId(after: last, using: paging, in: self.context),
        previousPageId: self.query.pageId(before: page, using: paging, in: self.context)
      )
    }
  }

  @inlinable
  func fetchPage(
    _ paging: Paging,
    _ value: @escaping @Sendable (Page) -> Value
  ) async throws -> Value {
    let fetch = PageFetch(query: self.query, paging: paging, context: self.context)
    return value(try await fetch.run(yieldingTo: self.continuation, value))
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
    while let page = try await self.fetchPage(after: tracker.progress(startingWith: pages)) {
      tracker.add(page)
    }
    return self.allPagesValue(tracker.progress(startingWith: pages).pages)
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
      var fetched = pages
      fetched.append(page)
      return self.allPagesValue(fetched)
    }
  }

  @inlinable
  func pageId(after progress: Tracker.Progress) -> Query.PageID? {
    if progress.isFull { return nil }
    guard let last = progress.pages.last else { return progress.firstPageId }
    let paging = Paging(pageId: last.id, pages: progress.pages, request: .allPages)
    return self.query.pageId(after: last, using: paging, in: self.context)
  }

  @inlinable
  func allPagesValue(_ pages: Pages) -> Value {
    guard let first = pages.first, let last = pages.last else {
      return Value(fetchValue: .allPages(pages), nextPageId: nil, previousPageId: nil)
    }
    let paging = Paging(pageId: last.id, pages: pages, request: .allPages)
    return Value(
      fetchValue: .allPages(pages),
      nextPageId: self.query.pageId(after: last, using: paging, in: self.context),
      previousPageId: self.query.pageId(before: first, using: paging, in: self.context)
    )
  }
}
