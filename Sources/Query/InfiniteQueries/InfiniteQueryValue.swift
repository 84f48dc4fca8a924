/// What a fetch of an infinite query produces.
public struct InfiniteQueryValue<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  /// What it has. One object, since a fetch passes its value on from one run to the next, and each copy of the
  /// fields would copy up to six identifiers.
  @usableFromInline let storage: Storage

  @inlinable
  init(
    fetchValue: FetchValue,
    nextPageId: PageID?,
    after lastPageId: PageID?,
    previousPageId: PageID?,
    before firstPageId: PageID?,
    loadedLastPageId: PageID? = nil,
    isUnchanged: Bool = false
  ) {
    self.storage = Storage(
      Fields(
        fetchValue: fetchValue,
        nextPageId: nextPageId,
        previousPageId: previousPageId,
        lastPageId: lastPageId,
        firstPageId: firstPageId,
        loadedLastPageId: loadedLastPageId,
        isUnchanged: isUnchanged
      )
    )
  }

  /// The page or pages that were fetched.
  @inlinable
  public var fetchValue: FetchValue { self.storage.fields.fetchValue }

  @inlinable
  var fields: Fields { self.storage.fields }

  /// The page or pages that were fetched, by the request.
  public enum FetchValue: Sendable {
    /// All pages, which replace those at hand.
    case allPages(InfiniteQueryPages<PageID, PageValue>)
    /// The page after the last one.
    case nextPage(NextPage)
    /// The page before the first one.
    case previousPage(PreviousPage)
    /// The page that the query starts with.
    case initialPage(InfiniteQueryPage<PageID, PageValue>)
  }

  /// A page that comes after another one.
  public struct NextPage: Sendable {
    /// The page.
    public let page: InfiniteQueryPage<PageID, PageValue>
    /// The page that was the last one when the fetch started.
    public let lastPageId: PageID

    @inlinable
    init(page: InfiniteQueryPage<PageID, PageValue>, lastPageId: PageID) {
      self.page = page
      self.lastPageId = lastPageId
    }
  }

  /// A page that comes before another one.
  public struct PreviousPage: Sendable {
    /// The page.
    public let page: InfiniteQueryPage<PageID, PageValue>
    /// The page that was the first one when the fetch started.
    public let firstPageId: PageID

    @inlinable
    init(page: InfiniteQueryPage<PageID, PageValue>, firstPageId: PageID) {
      self.page = page
      self.firstPageId = firstPageId
    }
  }

  @usableFromInline
  final class Storage: Sendable {
    @usableFromInline let fields: Fields

    @inlinable
    init(_ fields: Fields) { self.fields = fields }
  }

  @usableFromInline
  struct Fields: Sendable {
    @usableFromInline let fetchValue: FetchValue
    @usableFromInline let nextPageId: PageID?
    @usableFromInline let previousPageId: PageID?
    /// The page that `nextPageId` comes after, and the one that `previousPageId` comes before.
    @usableFromInline let lastPageId: PageID?
    @usableFromInline let firstPageId: PageID?
    /// The last page that was loaded when a fetch of all pages began.
    @usableFromInline let loadedLastPageId: PageID?
    /// Whether there was no page left to fetch, so that the state stays as it is.
    @usableFromInline let isUnchanged: Bool

    @inlinable
    init(
      fetchValue: FetchValue,
      nextPageId: PageID?,
      previousPageId: PageID?,
      lastPageId: PageID?,
      firstPageId: PageID?,
      loadedLastPageId: PageID?,
      isUnchanged: Bool
    ) {
      self.fetchValue = fetchValue
      self.nextPageId = nextPageId
      self.previousPageId = previousPageId
      self.lastPageId = lastPageId
      self.firstPageId = firstPageId
      self.loadedLastPageId = loadedLastPageId
      self.isUnchanged = isUnchanged
    }
  }

  /// The one page that was fetched; `nil` if all pages were.
  @inlinable
  var page: InfiniteQueryPage<PageID, PageValue>? {
    switch self.fetchValue {
    case .allPages: nil
    case .nextPage(let next): next.page
    case .previousPage(let previous): previous.page
    case .initialPage(let page): page
    }
  }

  /// Whether it is the page that was asked for by an id.
  ///
  /// - Parameter isNext: Whether as the next page, rather than as the previous one.
  @inlinable
  func leads(from id: PageID?, isNext: Bool) -> Bool {
    switch self.fetchValue {
    case .nextPage(let next): isNext && next.page.id == id
    case .previousPage(let previous): !isNext && previous.page.id == id
    case .allPages, .initialPage: false
    }
  }
}

extension InfiniteQueryValue: Equatable where PageValue: Equatable {
  @inlinable
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.fields == rhs.fields }
}

extension InfiniteQueryValue: Hashable where PageValue: Hashable {
  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(self.fields) }
}

extension InfiniteQueryValue: CustomReflectable {
  public var customMirror: Mirror {
    Mirror(self, children: Mirror(reflecting: self.fields).children, displayStyle: .struct)
  }
}

extension InfiniteQueryValue.Fields: Equatable where PageValue: Equatable {}
extension InfiniteQueryValue.Fields: Hashable where PageValue: Hashable {}
extension InfiniteQueryValue.FetchValue: Equatable where PageValue: Equatable {}
extension InfiniteQueryValue.FetchValue: Hashable where PageValue: Hashable {}
extension InfiniteQueryValue.NextPage: Equatable where PageValue: Equatable {}
extension InfiniteQueryValue.NextPage: Hashable where PageValue: Hashable {}
extension InfiniteQueryValue.PreviousPage: Equatable where PageValue: Equatable {}
extension InfiniteQueryValue.PreviousPage: Hashable where PageValue: Hashable {}
