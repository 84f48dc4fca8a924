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
    switch self.position.request(for: kind) {
    case .initialPage?:
      // A plain fetch waits for nothing: several of the initial page may overlap. Any other call
      // wants the page after it, so it waits, and decides again when it starts.
      if kind == nil {
        // It fetches all pages if there are some when it starts.
        task.context.allPagesTracker = AllPagesTracker<PageID, PageValue>()
      } else {
        task.schedule(after: self._initialPageActiveTasks)
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
    let position = store.pagePosition()
    // If there is no page left, there is no work to share.
    guard let request = position.request(for: new.infiniteFetchKind) else { return false }
    return position.request(for: running.infiniteFetchKind) == request
  }
}

// MARK: - Updates

extension InfiniteQueryState {
  public mutating func invalidate() { self._updates.isInvalidated = true }

  @inlinable
  public mutating func update(
    with result: Result<StateValue, any Error>,
    using context: QueryContext
  ) {
    switch result {
    case .success(let pages):
      self._currentValue = pages
      self._updates.recordValue(at: context.queryClock.now())
    case .failure(let error):
      self._updates.recordError(error, at: context.queryClock.now())
    }
  }

  @inlinable
  public mutating func update(
    with result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) {
    switch result {
    case .success(let value):
      guard !value.isUnchanged else { return }
      self.merge(value, isPlainFetch: task.context.infiniteFetchKind == nil)
      self._nextPageId = value.nextPageId
      self._previousPageId = value.previousPageId
      self._updates.recordValue(at: task.context.queryClock.now())
    case .failure(let error):
      self._updates.recordError(error, at: task.context.queryClock.now())
    }
  }

  @inlinable
  mutating func merge(_ value: QueryValue, isPlainFetch: Bool) {
    switch value.fetchValue {
    case .allPages(let pages):
      self._currentValue = pages
    case .initialPage(let page):
      if isPlainFetch {
        self._currentValue = [page]
      } else {
        self._currentValue[id: page.id] = page
      }
    case .nextPage(let next):
      self.insert(next.page, beside: next.lastPageId, offset: 1)
    case .previousPage(let previous):
      self.insert(previous.page, beside: previous.firstPageId, offset: 0)
    }
  }

  @inlinable
  mutating func insert(
    _ page: InfiniteQueryPage<PageID, PageValue>,
    beside anchor: PageID,
    offset: Int
  ) {
    // If the list was replaced meanwhile, the page belongs nowhere in the new one.
    guard let index = self._currentValue.index(id: anchor) else { return }
    if self._currentValue[id: page.id] != nil {
      self._currentValue[id: page.id] = page
    } else {
      self._currentValue.insert(page, at: index + offset)
    }
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
