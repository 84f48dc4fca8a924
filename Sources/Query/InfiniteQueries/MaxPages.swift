extension InfiniteQueryRequest {
  /// Limits how many pages of this query are kept: a page that is fetched at one end drops the pages
  /// beyond that at the other end.
  ///
  /// What was dropped is fetched again as any page: the page before the first one, as
  /// ``InfiniteQueryRequest/pageId(before:using:in:)`` says, or the page after the last one. A fetch of
  /// all pages fetches those that are kept. Pages that were set by hand, or restored, stay until a page
  /// is fetched.
  ///
  /// - Parameter count: How many pages are kept, 1 or more.
  /// - Precondition: `count` is greater than 0.
  public func maxPages(_ count: Int) -> ModifiedQuery<Self, _MaxPagesModifier<Self>> {
    precondition(
      count > 0,
      "\(self._debugTypeName): maxPages(_:) takes a number of pages of 1 or more; got \(count)."
    )
    return self.modifier(_MaxPagesModifier(count: count))
  }
}

public struct _MaxPagesModifier<Query: InfiniteQueryRequest>: _ContextUpdatingQueryModifier {
  let count: Int

  public func setup(context: inout QueryContext) { context.maxPages = self.count }
}

extension QueryContext {
  /// How many pages of an infinite query are kept; nil: all.
  @usableFromInline
  var maxPages: Int? {
    get { self[MaxPagesKey.self] }
    set { self[MaxPagesKey.self] = newValue }
  }

  @usableFromInline
  enum MaxPagesKey: Key {
    @inlinable static var defaultValue: Int? { nil }
  }
}

extension PagePosition {
  /// The first page, once a page is added at the end and those beyond a limit are dropped; nil: the
  /// added one.
  @inlinable
  func firstPage(
    afterAdding id: PageID, keeping limit: Int?
  ) -> InfiniteQueryPage<PageID, PageValue>? {
    guard let limit else { return self.pages.first }
    let excess = self.pages.count + (self.pages.contains(id: id) ? 0 : 1) - limit
    return self.pages.dropFirst(max(excess, 0)).first
  }

  /// The last page, once a page is added at the beginning and those beyond a limit are dropped; nil: the
  /// added one.
  @inlinable
  func lastPage(
    afterAdding id: PageID, keeping limit: Int?
  ) -> InfiniteQueryPage<PageID, PageValue>? {
    guard let limit else { return self.pages.last }
    let excess = self.pages.count + (self.pages.contains(id: id) ? 0 : 1) - limit
    return self.pages.dropLast(max(excess, 0)).last
  }
}

extension InfiniteQueryState {
  /// The pages that leave a list when what was fetched is put into it.
  @usableFromInline
  func pagesDropped(by value: QueryValue, keeping limit: Int) -> [StateValue.Element] {
    guard let page = value.page else { return [] }
    let isNew = !self._currentValue.contains(id: page.id)
    let excess = self._currentValue.count + (isNew ? 1 : 0) - limit
    guard excess > 0 else { return [] }
    return switch value.fetchValue {
    case .previousPage: Array(self._currentValue.suffix(excess))
    default: Array(self._currentValue.prefix(excess))
    }
  }

  /// Drops the pages beyond a limit, at the other end than the one at which pages were added.
  @usableFromInline
  mutating func dropPages(beyond limit: Int, after value: QueryValue) {
    let excess = self._currentValue.count - limit
    guard excess > 0 else { return }
    // If other fetches have changed the list meanwhile, the ends are the pages that were dropped.
    switch value.fetchValue {
    case .initialPage: return
    case .previousPage:
      self._nextPageId = self._currentValue[limit].id
      for _ in 0..<excess { self._currentValue.removeLast() }
    case .nextPage, .allPages:
      self._previousPageId = self._currentValue[excess - 1].id
      for _ in 0..<excess { self._currentValue.removeFirst() }
    }
  }
}
