import Synchronization

/// The invalidations of a client, so that a store that is being made meanwhile learns of them: it is in no
/// cache yet, and may have read its value before the storage was told.
@usableFromInline
final class InvalidationLog: Sendable {
  /// Guarded by the mutex.
  private struct Guarded {
    var recent = RecentPaths(limit: 16)
    /// The numbers of those that are not over.
    var running = [Int]()
  }

  private let last = Atomic(0)
  private let running = Atomic(0)
  private let guarded = Locked(Guarded())

  /// Carries out an invalidation.
  func perform(_ path: QueryPath, _ body: () -> Void) {
    self.running.add(1, ordering: .sequentiallyConsistent)
    let number = self.guarded.withLock { log in
      log.recent.note(.beginning(with: path))
      log.running.append(log.recent.count)
      self.last.store(log.recent.count, ordering: .sequentiallyConsistent)
      return log.recent.count
    }
    body()
    self.guarded.withLock { $0.running.removeAll { $0 == number } }
    self.running.subtract(1, ordering: .sequentiallyConsistent)
  }

  /// The newest invalidation that is over, as all before it.
  @usableFromInline
  var mark: Int {
    let last = self.last.load(ordering: .sequentiallyConsistent)
    if self.running.load(ordering: .sequentiallyConsistent) == 0 { return last }
    return self.guarded.withLock { min(last, ($0.running.min() ?? .max) - 1) }
  }

  /// Whether a path was invalidated, as far as is known, by one that was not over at a mark.
  @usableFromInline
  func hits(_ path: QueryPath, since mark: Int) -> Bool {
    if self.last.load(ordering: .sequentiallyConsistent) == mark { return false }
    return self.guarded.withLock { $0.recent.covers(path, since: mark) }
  }
}
