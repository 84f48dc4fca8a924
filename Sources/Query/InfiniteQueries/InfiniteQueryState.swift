public import Foundation

/// The state of an infinite query: its pages, and the pages that come before and after them.
public struct InfiniteQueryState<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  public typealias StateValue = InfiniteQueryPages<PageID, PageValue>
  public typealias QueryValue = InfiniteQueryValue<PageID, PageValue>
  public typealias StatusValue = StateValue

  /// The pages, in their order.
  public private(set) var currentValue: StateValue

  /// The pages that the state started with.
  public let initialValue: StateValue

  /// The page that the query starts with.
  public let initialPageId: PageID

  /// The page after the last one, where there is one, as of the last fetch.
  public private(set) var nextPageId: PageID?

  /// The page before the first one, where there is one, as of the last fetch.
  public private(set) var previousPageId: PageID?

  /// The fetches of all pages that are scheduled or running.
  public private(set) var allPagesActiveTasks = IdentifiedArrayOf<QueryTask<QueryValue>>()

  /// The fetches of the initial page that are scheduled or running.
  public private(set) var initialPageActiveTasks = IdentifiedArrayOf<QueryTask<QueryValue>>()

  /// The fetches of the next page that are scheduled or running.
  public private(set) var nextPageActiveTasks = IdentifiedArrayOf<QueryTask<QueryValue>>()

  /// The fetches of the previous page that are scheduled or running.
  public private(set) var previousPageActiveTasks = IdentifiedArrayOf<QueryTask<QueryValue>>()

  private var updates = UpdateRecord()

  /// Creates the state of an infinite query.
  ///
  /// - Parameters:
  ///   - initialValue: The pages before the first fetch.
  ///   - initialPageId: The page that the query starts with.
  public init(initialValue: StateValue, initialPageId: PageID) {
    self.currentValue = initialValue
    self.initialValue = initialValue
    self.initialPageId = initialPageId
  }

  var position: PagePosition<PageID, PageValue> {
    PagePosition(
      pages: self.currentValue,
      nextPageId: self.nextPageId,
      previousPageId: self.previousPageId
    )
  }
}

// MARK: - Values

extension InfiniteQueryState {
  public var valueUpdateCount: Int { self.updates.valueUpdateCount }
  public var valueLastUpdatedAt: Date? { self.updates.valueLastUpdatedAt }
  public var error: (any Error)? { self.updates.error }
  public var errorUpdateCount: Int { self.updates.errorUpdateCount }
  public var errorLastUpdatedAt: Date? { self.updates.errorLastUpdatedAt }

  /// Whether a fetch of all pages is scheduled or running.
  public var isLoadingAllPages: Bool { !self.allPagesActiveTasks.isEmpty }

  /// Whether a fetch of the initial page is scheduled or running.
  public var isLoadingInitialPage: Bool { !self.initialPageActiveTasks.isEmpty }

  /// Whether a fetch of the next page is scheduled or running.
  public var isLoadingNextPage: Bool { !self.nextPageActiveTasks.isEmpty }

  /// Whether a fetch of the previous page is scheduled or running.
  public var isLoadingPreviousPage: Bool { !self.previousPageActiveTasks.isEmpty }

  public var isLoading: Bool {
    self.isLoadingAllPages || self.isLoadingInitialPage || self.isLoadingNextPage
      || self.isLoadingPreviousPage
  }

  /// Whether a page can be fetched at the end. True where there is no page yet.
  public var hasNextPage: Bool { self.currentValue.isEmpty || self.nextPageId != nil }

  /// Whether a page can be fetched at the beginning. True where there is no page yet.
  public var hasPreviousPage: Bool { self.currentValue.isEmpty || self.previousPageId != nil }
}

// MARK: - Tasks

extension InfiniteQueryState: QueryStateProtocol {
  public mutating func scheduleFetchTask(_ task: inout QueryTask<QueryValue>) {
    let kind = task.context.infiniteFetchKind
    switch self.position.request(for: kind) {
    case .initialPage?:
      // A plain fetch waits for nothing: several of the initial page may overlap. Any other call
      // wants the page after it, so it waits, and decides again when it starts.
      if kind != nil { task.schedule(after: self.initialPageActiveTasks) }
      self.initialPageActiveTasks.append(task)
    case .allPages?:
      task.schedule(after: self.initialPageActiveTasks)
      task.schedule(after: self.nextPageActiveTasks)
      task.schedule(after: self.previousPageActiveTasks)
      task.context.allPagesTracker = AllPagesTracker<PageID, PageValue>()
      self.allPagesActiveTasks.append(task)
    case .nextPage?, .previousPage?, nil:
      task.schedule(after: self.initialPageActiveTasks)
      task.schedule(after: self.allPagesActiveTasks)
      if kind == .previousPage {
        self.previousPageActiveTasks.append(task)
      } else {
        self.nextPageActiveTasks.append(task)
      }
    }
  }

  public mutating func finishFetchTask(_ task: QueryTask<QueryValue>) {
    self.allPagesActiveTasks.remove(id: task.id)
    self.initialPageActiveTasks.remove(id: task.id)
    self.nextPageActiveTasks.remove(id: task.id)
    self.previousPageActiveTasks.remove(id: task.id)
  }

  public mutating func reset(using context: QueryContext) {
    for task in self.allPagesActiveTasks { task.cancel() }
    for task in self.initialPageActiveTasks { task.cancel() }
    for task in self.nextPageActiveTasks { task.cancel() }
    for task in self.previousPageActiveTasks { task.cancel() }
    self = Self(initialValue: self.initialValue, initialPageId: self.initialPageId)
  }

  public static func _isDuplicate(_ running: QueryContext, _ new: QueryContext) -> Bool {
    guard let store = new.currentStore(of: Self.self) else {
      return running.infiniteFetchKind == new.infiniteFetchKind
    }
    let position = store.pagePosition()
    return position.request(for: running.infiniteFetchKind)
      == position.request(for: new.infiniteFetchKind)
  }
}

// MARK: - Updates

extension InfiniteQueryState {
  public mutating func update(
    with result: Result<StateValue, any Error>,
    using context: QueryContext
  ) {
    switch result {
    case .success(let pages):
      self.currentValue = pages
      self.updates.recordValue(at: context.queryClock.now())
    case .failure(let error):
      self.updates.recordError(error, at: context.queryClock.now())
    }
  }

  public mutating func update(
    with result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) {
    switch result {
    case .success(let value):
      guard !value.isUnchanged else { return }
      self.merge(value, isPlainFetch: task.context.infiniteFetchKind == nil)
      self.nextPageId = value.nextPageId
      self.previousPageId = value.previousPageId
      self.updates.recordValue(at: task.context.queryClock.now())
    case .failure(let error):
      self.updates.recordError(error, at: task.context.queryClock.now())
    }
  }

  private mutating func merge(_ value: QueryValue, isPlainFetch: Bool) {
    switch value.fetchValue {
    case .allPages(let pages):
      self.currentValue = pages
    case .initialPage(let page):
      if isPlainFetch {
        self.currentValue = [page]
      } else {
        self.currentValue[id: page.id] = page
      }
    case .nextPage(let next):
      self.insert(next.page, beside: next.lastPageId, offset: 1)
    case .previousPage(let previous):
      self.insert(previous.page, beside: previous.firstPageId, offset: 0)
    }
  }

  private mutating func insert(
    _ page: InfiniteQueryPage<PageID, PageValue>,
    beside anchor: PageID,
    offset: Int
  ) {
    // Where the list was replaced meanwhile, the page belongs nowhere in the new one.
    guard let index = self.currentValue.index(id: anchor) else { return }
    if self.currentValue[id: page.id] != nil {
      self.currentValue[id: page.id] = page
    } else {
      self.currentValue.insert(page, at: index + offset)
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
  public var _infiniteState: InfiniteQueryState<PageID, PageValue> { self }
}
