/// What a fetch of pages is for.
@usableFromInline
struct PageTarget<PageID: Hashable & Sendable>: Sendable {
  /// `nil`: there is no page left.
  @usableFromInline let request: InfiniteQueryPagingRequest<PageID>?
  /// The page beside which a next or previous one is put.
  @usableFromInline let neighbourId: PageID?
  /// Whether the list has that page already, which is replaced in its place.
  @usableFromInline let isInList: Bool

  @inlinable
  init(_ request: InfiniteQueryPagingRequest<PageID>?, neighbourId: PageID?, isInList: Bool) {
    self.request = request
    self.neighbourId = neighbourId
    self.isInList = isInList
  }
}

extension InfiniteQueryState {
  /// What a fetch of this kind fetches, and the list for which it does.
  ///
  /// The list may hold what an earlier attempt has yielded of its page before it failed: the next attempt fetches
  /// that page, and not the one behind it.
  @inlinable
  func target(
    for kind: InfiniteFetchKind?,
    of work: (any TaskRunOwner)?
  ) -> (PageTarget<PageID>, PagePosition<PageID, PageValue>) {
    if let work, let target = work.pageTarget as? PageTarget<PageID>,
      let pages = self.pages(for: target, hasYielded: work.hasYieldedPage)
    {
      return (target, PagePosition(pages: pages))
    }
    let position = self.position(for: kind)
    let request = position.request(for: kind)
    let target =
      switch request {
      case .nextPage(let id)?:
        PageTarget(
          request, neighbourId: position.pages.last?.id, isInList: position.pages.contains(id: id))
      case .previousPage(let id)?:
        PageTarget(
          request, neighbourId: position.pages.first?.id, isInList: position.pages.contains(id: id))
      case .initialPage?, .allPages?, nil:
        PageTarget(request, neighbourId: nil, isInList: false)
      }
    return (target, position)
  }

  /// The list as it was before the page of an earlier attempt came; nil if what is to be fetched is decided anew.
  ///
  /// - Parameters:
  ///   - target: What that attempt was for.
  ///   - hasYielded: Whether it has yielded: what it did may have been removed since, and its ids be left.
  @usableFromInline
  func pages(for target: PageTarget<PageID>, hasYielded: Bool) -> StateValue? {
    let pages = self._currentValue
    let neighbour = hasYielded ? target.neighbourId.flatMap { pages.index(id: $0) } : nil
    switch target.request {
    case .initialPage?:
      return pages.contains(id: self.initialPageId) ? [] : nil
    case .nextPage(let id)?:
      guard let end = pages.index(id: id) ?? neighbour.map({ $0 + 1 }) else { return nil }
      return target.isInList ? pages : StateValue(uniqueElements: pages[..<end])
    case .previousPage(let id)?:
      guard let start = pages.index(id: id).map({ $0 + 1 }) ?? neighbour else { return nil }
      return target.isInList ? pages : StateValue(uniqueElements: pages[start...])
    case .allPages?, nil:
      return nil
    }
  }

  /// The tasks at work beside which a request may not run: the initial page and all pages each run
  /// beside their like alone, the next and the previous page beside one another.
  ///
  /// - Parameters:
  ///   - request: What is to be fetched.
  ///   - work: The work that is to fetch it.
  @inlinable
  func tasks(
    atWorkThatExclude request: InfiniteQueryPagingRequest<PageID>?,
    of work: any TaskRunOwner
  ) -> [QueryTask<QueryValue>] {
    guard let request else { return [] }
    var tasks = [QueryTask<QueryValue>]()
    // A task may be in another list than that of its kind: what it fetches is decided when it starts.
    self._initialPageActiveTasks.append(to: &tasks, excluding: request, of: work)
    self._allPagesActiveTasks.append(to: &tasks, excluding: request, of: work)
    self._nextPageActiveTasks.append(to: &tasks, excluding: request, of: work)
    self._previousPageActiveTasks.append(to: &tasks, excluding: request, of: work)
    return tasks
  }
}

// Inlinable, like the fetch that looks before each page: a caller's generic code is specialised.
extension IdentifiedArray {
  @inlinable
  func append<PageID, Value>(
    to tasks: inout [QueryTask<Value>],
    excluding request: InfiniteQueryPagingRequest<PageID>,
    of work: any TaskRunOwner
  ) where Element == QueryTask<Value> {
    for task in self {
      guard
        let owner = task.run.owner, owner !== work,
        case let other = owner.source, other !== work,
        let running = other.pagingRequest as? InfiniteQueryPagingRequest<PageID>
      else { continue }
      if running.excludes(request) { tasks.append(task) }
    }
  }
}

extension InfiniteQueryPagingRequest {
  @inlinable
  func excludes(_ other: InfiniteQueryPagingRequest) -> Bool {
    switch (self, other) {
    case (.initialPage, .initialPage), (.allPages, .allPages),
      (.nextPage, .nextPage), (.nextPage, .previousPage),
      (.previousPage, .nextPage), (.previousPage, .previousPage):
      false
    default: true
    }
  }
}

extension QueryTask {
  /// Returns when all of the tasks have ended, but for those that wait for the work themselves. All
  /// must have been started.
  ///
  /// - Returns: Those that were not waited for.
  /// - Throws: `CancellationError` if the task that waits is cancelled.
  @usableFromInline
  static func wait(
    of work: any TaskRunOwner,
    forAll tasks: [QueryTask]
  ) async throws -> [QueryTaskIdentifier] {
    var ignored = [QueryTaskIdentifier]()
    for task in tasks {
      guard let target = task.run.owner?.source else { continue }
      let hasWaited = await FetchGraph.wait(of: work, for: target) {
        await task.run.waitUntilFinished()
      }
      if !hasWaited { ignored.append(task.id) }
    }
    try Task.checkCancellation()
    return ignored
  }
}
