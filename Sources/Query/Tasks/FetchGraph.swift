import Synchronization

/// Which fetches wait for which, so that a query that fetches itself does not wait for itself.
///
/// A fetch waits for the fetches that its work awaits, for the one whose work it shares, and for the
/// tasks that it is scheduled after.
@usableFromInline
enum FetchGraph {
  /// The fetch whose work the current task is.
  @usableFromInline static let enclosing = TaskLocal<FetchWork?>(wrappedValue: nil)

  /// Guards what the works know of one another.
  ///
  /// With a value, since the thread sanitizer confuses the address of an empty one with its
  /// neighbour's.
  private static let lock = Locked(false)

  /// Calls handlers and the like, which run in the task of a fetch without being its work.
  @inlinable
  static func outside(_ body: () -> Void) {
    if self.enclosing.get() == nil {
      body()
    } else {
      self.enclosing.withValue(nil, operation: body)
    }
  }
}

// MARK: - Waiting

extension FetchGraph {
  /// Records that one fetch waits for another one, until ``endWait(of:for:)``.
  ///
  /// - Parameter isCall: Whether the work of the one has called the other, rather than that they share work.
  /// - Returns: The fetches that wait for one another, from the target to the one that was to wait, if
  ///   it would wait for itself. Then nothing is recorded.
  @usableFromInline
  static func beginWait(
    of waiter: FetchWork, for target: FetchWork, isCall: Bool = false
  ) -> [FetchWork]? {
    self.lock.withLock { _ in
      // Only a fetch that another one waits for can close a circle.
      if waiter === target || waiter.awaiterCount > 0,
        let circle = self.path(from: target, to: waiter)
      {
        return circle
      }
      waiter.awaited.append(target)
      target.awaiterCount += 1
      if isCall, target.caller == nil {
        target.caller = .passUnretained(waiter)
        let fetches = self.callers(of: target).count { $0.isOfSameStore(as: target) }
        if fetches > 1 { target.isEndless.store(true, ordering: .relaxed) }
      }
      return nil
    }
  }

  @usableFromInline
  static func endWait(of waiter: FetchWork, for target: FetchWork) {
    self.lock.withLock { _ in
      guard waiter.awaited.remove(target) else { return }
      target.awaiterCount -= 1
      if target.caller?.toOpaque() == Unmanaged.passUnretained(waiter).toOpaque() {
        target.caller = nil
      }
    }
  }

  /// The fetches whose work has called one after another down to a fetch, the nearest first. The caller holds
  /// the lock.
  private static func callers(of work: FetchWork) -> [FetchWork] {
    var callers = [FetchWork]()
    var next = work.caller
    while let caller = next?.takeUnretainedValue() {
      callers.append(caller)
      next = caller.caller
    }
    return callers
  }

  /// Why a fetch fails that is the third one of its store in a row of fetches that have called one another. Where work
  /// is shared, the second one has met the first. A cancelled one shares nothing, and would go on for ever.
  @usableFromInline
  static func endlessCall(_ work: FetchWork) -> QueryCircularFetchError {
    let callers = self.lock.withLock { _ in self.callers(of: work) }
    let count = callers.prefix { !$0.isOfSameStore(as: work) }.count + 1
    let circle = callers.prefix(count).reversed() + [work]
    return QueryCircularFetchError(paths: circle.compactMap(\.queryPath))
  }

  private static func path(from start: FetchWork, to end: FetchWork) -> [FetchWork]? {
    var visited = Set<ObjectIdentifier>()
    var stack = [[start]]
    while let path = stack.popLast(), let last = path.last {
      if last === end { return path }
      guard visited.insert(ObjectIdentifier(last)).inserted else { continue }
      for next in last.awaited.all { stack.append(path + [next]) }
    }
    return nil
  }

  /// Waits for a fetch to end, unless it waits for this one, which is reported.
  ///
  /// - Returns: Whether it has waited.
  static func wait(
    of waiter: FetchWork,
    for target: FetchWork,
    _ end: () async -> Void
  ) async -> Bool {
    if let circle = self.beginWait(of: waiter, for: target) {
      if self.markSeparate(waiter) {
        QueryWarning.queryFetchesItself(paths: circle.compactMap(\.queryPath)).report()
      }
      return false
    }
    await end()
    self.endWait(of: waiter, for: target)
    return true
  }

  /// Reports that a fetch would wait for itself, and lets it do its own work instead.
  ///
  /// - Throws: ``QueryCircularFetchError`` if that was tried already, and came back here.
  @usableFromInline
  static func separate(_ work: FetchWork, from circle: [FetchWork]) throws {
    let path = work.queryPath
    let separate = self.lock.withLock { _ in circle.filter(\.isSeparate) }
    let isRepeated = separate.contains { $0.queryPath == path }
    _ = self.markSeparate(work)
    let paths = circle.compactMap(\.queryPath)
    if isRepeated { throw QueryCircularFetchError(paths: paths) }
    QueryWarning.queryFetchesItself(paths: paths).report()
  }

  /// - Returns: Whether this is the first time.
  private static func markSeparate(_ work: FetchWork) -> Bool {
    self.lock.withLock { _ in
      defer { work.isSeparate = true }
      return !work.isSeparate
    }
  }
}
