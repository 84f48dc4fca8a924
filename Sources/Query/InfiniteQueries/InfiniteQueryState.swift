public import FoundationEssentials

/// The state of an infinite query: its pages, and the pages that come before and after them.
public struct InfiniteQueryState<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  public typealias StateValue = InfiniteQueryPages<PageID, PageValue>
  public typealias QueryValue = InfiniteQueryValue<PageID, PageValue>
  public typealias StatusValue = StateValue

  @usableFromInline var _currentValue: StateValue
  @usableFromInline var _nextPageId: PageID?
  @usableFromInline var _previousPageId: PageID?
  @usableFromInline var _allPagesActiveTasks = IdentifiedArrayOf<QueryTask<QueryValue>>()
  @usableFromInline var _initialPageActiveTasks = IdentifiedArrayOf<QueryTask<QueryValue>>()
  @usableFromInline var _nextPageActiveTasks = IdentifiedArrayOf<QueryTask<QueryValue>>()
  @usableFromInline var _previousPageActiveTasks = IdentifiedArrayOf<QueryTask<QueryValue>>()
  @usableFromInline var _updates = UpdateRecord()
  @usableFromInline var _replacedList: ReplacedList?

  /// The pages that the state started with.
  public let initialValue: StateValue

  /// The page that the query starts with.
  public let initialPageId: PageID

  /// Creates the state of an infinite query.
  ///
  /// - Parameters:
  ///   - initialValue: The pages before the first fetch.
  ///   - initialPageId: The page that the query starts with.
  @inlinable
  public init(initialValue: StateValue, initialPageId: PageID) {
    self._currentValue = initialValue
    self.initialValue = initialValue
    self.initialPageId = initialPageId
  }

  @inlinable
  var position: PagePosition<PageID, PageValue> {
    PagePosition(
      pages: self._currentValue,
      nextPageId: self._nextPageId,
      previousPageId: self._previousPageId
    )
  }

  /// What a fetch of this kind begins with: a refetch with the whole list, where another one has yielded no more
  /// than its beginning.
  @inlinable
  func position(for kind: InfiniteFetchKind?) -> PagePosition<PageID, PageValue> {
    switch kind {
    case .allPages?, nil: self.standingReplacedList?.position ?? self.position
    case .nextPage?, .previousPage?: self.position
    }
  }
}

// MARK: - Values

extension InfiniteQueryState {
  /// The pages, in their order.
  @inlinable public var currentValue: StateValue { self._currentValue }

  /// The page after the last one, if there is one, as of the last fetch.
  @inlinable public var nextPageId: PageID? { self._nextPageId }

  /// The page before the first one, if there is one, as of the last fetch.
  @inlinable public var previousPageId: PageID? { self._previousPageId }

  @inlinable public var valueUpdateCount: Int { self._updates.valueUpdateCount }
  @inlinable public var valueLastUpdatedAt: Date? { self._updates.valueLastUpdatedAt }
  @inlinable public var error: (any Error)? { self._updates.error }
  @inlinable public var errorUpdateCount: Int { self._updates.errorUpdateCount }
  @inlinable public var errorLastUpdatedAt: Date? { self._updates.errorLastUpdatedAt }
  @inlinable public var isInvalidated: Bool { self._updates.isInvalidated }

  /// The fetches of all pages that are scheduled or running.
  @inlinable
  public var allPagesActiveTasks: IdentifiedArrayOf<QueryTask<QueryValue>> {
    self._allPagesActiveTasks
  }

  /// The fetches of the initial page that are scheduled or running.
  @inlinable
  public var initialPageActiveTasks: IdentifiedArrayOf<QueryTask<QueryValue>> {
    self._initialPageActiveTasks
  }

  /// The fetches of the next page that are scheduled or running.
  @inlinable
  public var nextPageActiveTasks: IdentifiedArrayOf<QueryTask<QueryValue>> {
    self._nextPageActiveTasks
  }

  /// The fetches of the previous page that are scheduled or running.
  @inlinable
  public var previousPageActiveTasks: IdentifiedArrayOf<QueryTask<QueryValue>> {
    self._previousPageActiveTasks
  }

  /// Whether a fetch of all pages is scheduled or running.
  @inlinable
  public var isLoadingAllPages: Bool { !self._allPagesActiveTasks.isEmpty }

  /// Whether a fetch of the initial page is scheduled or running.
  @inlinable
  public var isLoadingInitialPage: Bool { !self._initialPageActiveTasks.isEmpty }

  /// Whether a fetch of the next page is scheduled or running.
  @inlinable
  public var isLoadingNextPage: Bool { !self._nextPageActiveTasks.isEmpty }

  /// Whether a fetch of the previous page is scheduled or running.
  @inlinable
  public var isLoadingPreviousPage: Bool { !self._previousPageActiveTasks.isEmpty }

  @inlinable
  public var isLoading: Bool {
    self.isLoadingAllPages || self.isLoadingInitialPage || self.isLoadingNextPage
      || self.isLoadingPreviousPage
  }

  /// Whether a page can be fetched at the end. True if there is no page yet.
  @inlinable
  public var hasNextPage: Bool { self._currentValue.isEmpty || self._nextPageId != nil }

  /// Whether a page can be fetched at the beginning. True if there is no page yet.
  @inlinable
  public var hasPreviousPage: Bool { self._currentValue.isEmpty || self._previousPageId != nil }
}

// MARK: - Tasks

extension InfiniteQueryState: QueryStateProtocol {
  @inlinable
  public mutating func scheduleFetchTask(_ task: inout QueryTask<QueryValue>) {
    let kind = task.context.infiniteFetchKind
    let request = self.position.request(for: kind)
    switch request {
    case .initialPage?:
      // A plain fetch waits for nothing, and equal calls fetch the same page. Any other call wants
      // the page after it, so it waits. All decide again when they start.
      if kind == nil {
        // It fetches all pages if there are some when it starts.
        task.context.allPagesTracker = AllPagesTracker<PageID, PageValue>()
      } else {
        let others = self._initialPageActiveTasks.filter { $0.context.infiniteFetchKind != kind }
        task.schedule(after: others)
      }
      self._initialPageActiveTasks.append(task)
    case .allPages?:
      task.schedule(after: self._initialPageActiveTasks)
      task.schedule(after: self._nextPageActiveTasks)
      task.schedule(after: self._previousPageActiveTasks)
      task.context.allPagesTracker = AllPagesTracker<PageID, PageValue>()
      self._allPagesActiveTasks.append(task)
    case .nextPage?, .previousPage?, nil:
      task.schedule(after: self._initialPageActiveTasks)
      task.schedule(after: self._allPagesActiveTasks)
      if self._initialPageActiveTasks.isEmpty, self._allPagesActiveTasks.isEmpty {
        task.run.owner?.wantedPage = request
      }
      if kind == .previousPage {
        self._previousPageActiveTasks.append(task)
      } else {
        self._nextPageActiveTasks.append(task)
      }
    }
  }

  @inlinable
  public mutating func finishFetchTask(_ task: QueryTask<QueryValue>) {
    self._allPagesActiveTasks.remove(id: task.id)
    self._initialPageActiveTasks.remove(id: task.id)
    self._nextPageActiveTasks.remove(id: task.id)
    self._previousPageActiveTasks.remove(id: task.id)
    if self._replacedList?.task == task.id { self._replacedList = nil }
  }

  public mutating func reset(using context: QueryContext) {
    for task in self._allPagesActiveTasks { task.cancel() }
    for task in self._initialPageActiveTasks { task.cancel() }
    for task in self._nextPageActiveTasks { task.cancel() }
    for task in self._previousPageActiveTasks { task.cancel() }
    self = Self(initialValue: self.initialValue, initialPageId: self.initialPageId)
  }

  /// Fetches differ by the pages that they are for, which `_isDuplicate` compares.
  @inlinable
  public static var _isDeduplicatedByClients: Bool { true }

  @inlinable
  public static func _isDuplicate(_ running: QueryContext, _ new: QueryContext) -> Bool {
    guard let store = new.currentStore(of: Self.self) else {
      return running.infiniteFetchKind == new.infiniteFetchKind
    }
    return store.withLock {
      let position = store._state.position
      // What is fetched, which may be another page than the one that would be fetched now.
      let work = running.fetchWork
      let request = work?.pagingRequest as? InfiniteQueryPagingRequest<PageID>
      if work?.taken != nil, let request,
        let wanted = new.fetchWork?.wantedPage as? InfiniteQueryPagingRequest<PageID>
      {
        // It was under way when the page was asked for, and the list has that page now.
        return request == wanted
      }
      // If there is no page left, there is no work to share.
      guard let wanted = position.request(for: new.infiniteFetchKind) else { return false }
      if let request { return request == wanted }
      let undecided = store._state.target(for: running.infiniteFetchKind, of: work).0.request
      guard let undecided, undecided == wanted else { return false }
      // One that waits for others decides when they have ended, by the list that is there then.
      guard let work, !running.decidesAlike(new) else { return true }
      return store._state.tasks(atWorkThatExclude: undecided, of: work).isEmpty
    }
  }
}

// MARK: - Updates

extension InfiniteQueryState {
  /// One page does not renew the others.
  public static func _addsToValue(in context: QueryContext) -> Bool {
    switch context.infiniteFetchKind {
    case .nextPage?, .previousPage?: true
    case .allPages?, nil: false
    }
  }

  public mutating func invalidate() { self._updates.isInvalidated = true }

  @inlinable
  public mutating func update(
    with result: Result<StateValue, any Error>,
    using context: QueryContext
  ) {
    switch result {
    case .success(let pages):
      self._currentValue = pages
      self._updates.recordValue(at: context.now)
    case .failure(let error):
      self._updates.recordError(error, at: context.now)
    }
  }

  @inlinable
  public mutating func update(
    with result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) {
    switch result {
    case .success(let value):
      guard !value.fields.isUnchanged else { return }
      let limit = task.context.maxPages
      if self.merge(value, keeping: limit) {
        if let limit { self.dropPages(beyond: limit, after: value) }
        // Another fetch may have moved the end that an id was computed for. An id that was followed is
        // replaced all the same: its page may stand in the middle already.
        if self._currentValue.last?.id == value.fields.lastPageId
          || value.leads(from: self._nextPageId, isNext: true)
        {
          self._nextPageId = value.fields.nextPageId
        }
        if self._currentValue.first?.id == value.fields.firstPageId
          || value.leads(from: self._previousPageId, isNext: false)
        {
          self._previousPageId = value.fields.previousPageId
        }
      }
      let isInvalidated = self._updates.isInvalidated
      self._updates.recordValue(at: task.context.now)
      // One page does not renew the others.
      if value.page != nil && self._currentValue.count > 1 {
        self._updates.isInvalidated = isInvalidated
      }
    case .failure(let error):
      self._updates.recordError(error, at: task.context.now)
    }
  }

  public mutating func confirmValue(using context: QueryContext) {
    self._updates.recordValue(at: context.now)
  }

  public static var _isStoredAsConfirmed: Bool { true }

  @inlinable
  public static var _isObservedByParts: Bool { true }

  public func _pageValue(_ key: _PageKey) -> (any Sendable)? {
    guard self._updates.valueUpdateCount > 0, let id = key.id(of: PageID.self) else { return nil }
    return self._currentValue[id: id]?.value
  }

  /// There was no such page any more when the fetch began its work.
  @inlinable
  public static func _isNothing(_ value: QueryValue) -> Bool { value.fields.isUnchanged }

  public func _fetchedPages(of value: QueryValue) -> _FetchedPages? {
    guard !value.fields.isUnchanged else { return nil }
    if let page = value.page {
      let isAlone = self._currentValue.count == 1 && self._currentValue.first?.id == page.id
      return _FetchedPages(
        ids: [_PageKey.of(page.id)], isWhole: isAlone || self._currentValue.isEmpty,
        isSameList: isAlone && self.hasEnds(of: value))
    }
    guard case .allPages(let pages) = value.fetchValue else { return nil }
    return _FetchedPages(
      ids: pages.map { _PageKey.of($0.id) }, isWhole: true,
      isSameList: self.hasEnds(of: value)
        && self._currentValue.lazy.map(\.id).elementsEqual(pages.lazy.map(\.id)))
  }

  private func hasEnds(of value: QueryValue) -> Bool {
    self._nextPageId == value.fields.nextPageId
      && self._previousPageId == value.fields.previousPageId
  }

  /// Not the whole list where a page is added to it: a second owner would make that a copy.
  @inlinable
  public func _replacedValue(
    by result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) -> StateValue? {
    guard let value = try? result.get() else { return nil }
    guard let page = value.page else { return self._currentValue }
    if case .initialPage = value.fetchValue { return self._currentValue }
    var replaced = StateValue()
    if let old = self._currentValue[id: page.id] { replaced.append(old) }
    if let limit = task.context.maxPages {
      for page in self.pagesDropped(by: value, keeping: limit) { replaced.append(page) }
    }
    return replaced.isEmpty ? nil : replaced
  }

  /// Puts what was fetched into the list.
  ///
  /// - Returns: Whether there was a place for it.
  @inlinable
  mutating func merge(_ value: QueryValue, keeping limit: Int?) -> Bool {
    switch value.fetchValue {
    case .allPages(let pages):
      self.replace(with: pages, loadedLastPageId: value.fields.loadedLastPageId)
      return true
    case .initialPage(let page):
      self._currentValue[id: page.id] = page
      return true
    case .nextPage(let next):
      return self.insert(next.page, beside: next.lastPageId, offset: 1, keeping: limit)
    case .previousPage(let previous):
      return self.insert(previous.page, beside: previous.firstPageId, offset: 0, keeping: limit)
    }
  }

  /// Replaces all pages, but for those that came behind the last one since they were asked for.
  @inlinable
  mutating func replace(with pages: StateValue, loadedLastPageId: PageID?) {
    let old = self._currentValue
    self._currentValue = pages
    guard
      let loadedLastPageId, pages.last?.id == loadedLastPageId,
      let index = old.index(id: loadedLastPageId), index + 1 < old.endIndex
    else { return }
    for page in old[(index + 1)...] where !pages.contains(id: page.id) {
      self._currentValue.append(page)
    }
  }

  /// - Returns: Whether the page's neighbour is there.
  @inlinable
  mutating func insert(
    _ page: InfiniteQueryPage<PageID, PageValue>,
    beside anchor: PageID,
    offset: Int,
    keeping limit: Int?
  ) -> Bool {
    let isThere = self._currentValue.contains(id: page.id)
    // If the list was replaced meanwhile, the page belongs nowhere in the new one; but its neighbour may
    // have been dropped for its own earlier values.
    let index = self._currentValue.index(id: anchor)
    guard let index = index ?? (limit != nil && isThere ? 0 : nil) else { return false }
    if isThere {
      self._currentValue[id: page.id] = page
    } else {
      self._currentValue.insert(page, at: index + offset)
    }
    return true
  }
}

// MARK: - Protocol

/// What the methods of an infinite query's store know of its state.
public protocol _InfiniteQueryStateProtocol<PageID, PageValue>: QueryStateProtocol
where
  StateValue == InfiniteQueryPages<PageID, PageValue>,
  QueryValue == InfiniteQueryValue<PageID, PageValue>,
  StatusValue == StateValue
{
  /// What identifies a page.
  associatedtype PageID: Hashable & Sendable
  /// What a page holds.
  associatedtype PageValue: Sendable

  /// Whether a page can be fetched at the end.
  var hasNextPage: Bool { get }
  /// Whether a page can be fetched at the beginning.
  var hasPreviousPage: Bool { get }
  /// This state as what it is.
  var _infiniteState: InfiniteQueryState<PageID, PageValue> { get }
}

extension InfiniteQueryState: _InfiniteQueryStateProtocol {
  @inlinable
  public var _infiniteState: InfiniteQueryState<PageID, PageValue> { self }
}
