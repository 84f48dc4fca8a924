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
    // Decided now and not when the fetch was scheduled: what it waited for may have loaded pages.
    let position =
      self.context.currentStore(of: Query.State.self)?.pagePosition() ?? PagePosition()
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
  @inlinable
  func fetchAllPages(_ pages: Pages) async throws -> Value {
    let tracker =
      self.context.allPagesTracker as? AllPagesTracker<Query.PageID, Query.PageValue>
      ?? AllPagesTracker()
    // An attempt that was tried again goes on after the last page that it fetched.
    var progress = tracker.begin(with: pages)
    while let paging = self.nextPaging(progress) {
      let fetched = progress.pages
      let fetch = PageFetch(query: self.query, paging: paging, context: self.context)
      let page = try await fetch.run(yieldingTo: self.continuation) { page in
        self.allPagesValue(fetched.appending(page), lastPaging: paging)
      }
      progress.add(page, fetchedFor: paging)
      tracker.record(progress)
    }
    return self.allPagesValue(progress.pages, lastPaging: progress.lastPaging)
  }

  @inlinable
  func nextPaging(
    _ progress: AllPagesTracker<Query.PageID, Query.PageValue>.Progress
  ) -> Paging? {
    guard progress.pages.count < progress.pageCount else { return nil }
    let id: Query.PageID?
    if let last = progress.pages.last, let lastPaging = progress.lastPaging {
      let paging = Paging(pageId: lastPaging.pageId, pages: progress.pages, request: .allPages)
      id = self.query.pageId(after: last, using: paging, in: self.context)
    } else {
      id = progress.firstPageId
    }
    return id.map { Paging(pageId: $0, pages: progress.pages, request: .allPages) }
  }

  @inlinable
  func allPagesValue(_ pages: Pages, lastPaging: Paging?) -> Value {
    guard let first = pages.first, let last = pages.last, let lastPaging else {
      return Value(fetchValue: .allPages(pages), nextPageId: nil, previousPageId: nil)
    }
    let paging = Paging(pageId: lastPaging.pageId, pages: pages, request: .allPages)
    return Value(
      fetchValue: .allPages(pages),
      nextPageId: self.query.pageId(after: last, using: paging, in: self.context),
      previousPageId: self.query.pageId(before: first, using: paging, in: self.context)
    )
  }
}

extension IdentifiedArray {
  @inlinable
  func appending(_ element: Element) -> Self {
    var copy = self
    copy.append(element)
    return copy
  }
}
