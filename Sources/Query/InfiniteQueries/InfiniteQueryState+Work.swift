extension InfiniteQueryState {
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
