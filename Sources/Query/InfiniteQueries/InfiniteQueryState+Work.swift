extension InfiniteQueryState {
  /// The tasks at work beside which a request may not run: the initial page and all pages each run
  /// beside their like alone, the next and the previous page beside one another.
  ///
  /// - Parameters:
  ///   - request: What is to be fetched.
  ///   - work: The work that is to fetch it.
  @usableFromInline
  func tasks(
    atWorkThatExclude request: InfiniteQueryPagingRequest<PageID>?,
    of work: any TaskRunOwner
  ) -> [QueryTask<QueryValue>] {
    guard let request else { return [] }
    let lists = [
      self._initialPageActiveTasks, self._allPagesActiveTasks, self._nextPageActiveTasks,
      self._previousPageActiveTasks,
    ]
    // A task may be in another list than that of its kind: what it fetches is decided when it starts.
    return lists.flatMap { list in
      list.filter { task in
        guard
          let other = task.run.owner?.source, other !== work,
          let running = other.pagingRequest as? InfiniteQueryPagingRequest<PageID>
        else { return false }
        return running.excludes(request)
      }
    }
  }
}

extension InfiniteQueryPagingRequest {
  fileprivate func excludes(_ other: InfiniteQueryPagingRequest) -> Bool {
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
