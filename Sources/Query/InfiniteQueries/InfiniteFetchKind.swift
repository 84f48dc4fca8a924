/// What a store was asked to fetch of an infinite query. A plain fetch has no kind.
@usableFromInline
enum InfiniteFetchKind: Sendable {
  case allPages
  case nextPage
  case previousPage
}

extension InfiniteFetchKind? {
  /// Whether such a fetch asks for one page, wherever the list ends.
  @inlinable
  var isOnePage: Bool { self == .nextPage || self == .previousPage }
}

extension QueryContext {
  @inlinable
  var infiniteFetchKind: InfiniteFetchKind? {
    get { self[InfiniteFetchKindKey.self] }
    set { self[InfiniteFetchKindKey.self] = newValue }
  }

  /// Makes a fetch plain, whatever the fetch was for that this context comes from.
  @inlinable
  mutating func forgetInfiniteFetchKind() {
    if self.infiniteFetchKind != nil { self.infiniteFetchKind = nil }
  }

  /// Whether a fetch in this context is for the same pages as one in another, whatever the list.
  @inlinable
  func decidesAlike(_ other: QueryContext) -> Bool {
    (self.infiniteFetchKind ?? .allPages) == (other.infiniteFetchKind ?? .allPages)
  }

  @usableFromInline
  enum InfiniteFetchKindKey: Key {
    @inlinable static var defaultValue: InfiniteFetchKind? { nil }
  }

  /// An `AllPagesTracker` of the query that is fetched.
  @inlinable
  var allPagesTracker: (any Sendable)? {
    get { self[AllPagesTrackerKey.self] }
    set { self[AllPagesTrackerKey.self] = newValue }
  }

  @usableFromInline
  enum AllPagesTrackerKey: Key {
    @inlinable static var defaultValue: (any Sendable)? { nil }
  }
}

/// The ends of a state's page list, which decide the next page to fetch.
@usableFromInline
struct PagePosition<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  @usableFromInline var pages: InfiniteQueryPages<PageID, PageValue>
  @usableFromInline var nextPageId: PageID?
  @usableFromInline var previousPageId: PageID?

  @inlinable
  init(
    pages: InfiniteQueryPages<PageID, PageValue> = [],
    nextPageId: PageID? = nil,
    previousPageId: PageID? = nil
  ) {
    self.pages = pages
    self.nextPageId = nextPageId
    self.previousPageId = previousPageId
  }

  /// What a fetch of the given kind fetches from here; `nil` if there is no page left.
  @inlinable
  func request(for kind: InfiniteFetchKind?) -> InfiniteQueryPagingRequest<PageID>? {
    switch kind {
    case .allPages: .allPages
    case nil: self.pages.isEmpty ? .initialPage : .allPages
    case .nextPage:
      self.pages.isEmpty ? .initialPage : self.nextPageId.map { .nextPage($0) }
    case .previousPage:
      self.pages.isEmpty ? .initialPage : self.previousPageId.map { .previousPage($0) }
    }
  }
}

extension QueryStore {
  /// The ends of the page list at this moment.
  @inlinable
  func pagePosition<PageID, PageValue>() -> PagePosition<PageID, PageValue>
  where State == InfiniteQueryState<PageID, PageValue> {
    self.withLock { self._state.position }
  }
}
