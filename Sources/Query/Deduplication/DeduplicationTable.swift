/// The running fetches of one store, which may be shared.
@usableFromInline
final class DeduplicationTable<Value: Sendable>: Sendable {
  /// Guarded by the mutex.
  @usableFromInline
  struct State {
    @usableFromInline var fetches = [SharedFetch<Value>]()
    /// Incremented by each fetch that is added.
    @usableFromInline var revision = 0

    @inlinable
    init() {}
  }

  @usableFromInline let state = Locked(State())

  @inlinable
  init() {}

  /// Fetches, or waits for a fetch that does the same.
  @inlinable
  func fetch<Query: QueryRequest>(
    _ query: Query,
    in context: QueryContext,
    with continuation: QueryContinuation<Value>,
    isolation: isolated (any Actor)?,
    isDuplicate: @Sendable (QueryContext, QueryContext) -> Bool
  ) async throws -> Value where Query.Value == Value {
    let own = context.fetchWork
    while true {
      let (fetches, revision) = self.state.withLock { ($0.fetches, $0.revision) }
      // The predicate is user code, so it is not called under the lock.
      let duplicate = fetches.first { shared in
        // A context may have come from another store, and the table with it. An answer that may be too old
        // for this fetch is not shared.
        shared.context.isOfSameStore(as: context) && isDuplicate(shared.context, context)
          && own?.share(shared.work) != false
      }
      if let shared = duplicate {
        if let own, let leader = shared.work,
          let circle = FetchGraph.beginWait(of: own, for: leader)
        {
          own.share(nil)
          try FetchGraph.separate(own, from: circle)
          return try await query.fetch(in: self.inner(context), with: continuation)
        }
        defer { if let own, let leader = shared.work { FetchGraph.endWait(of: own, for: leader) } }
        guard let member = shared.join() else {
          // It has just ended, and is about to leave the table.
          own?.share(nil)
          self.remove(shared)
          continue
        }
        return try await shared.value(
          for: member, isolation: isolation, onLeave: { self.remove(shared) })
      }
      // No caller may join a fetch that is cancelled from the start.
      if Task.isCancelled {
        return try await query.fetch(in: self.inner(context), with: continuation)
      }
      let shared = SharedFetch(context: self.inner(context), continuation: continuation)
      // Another first fetch may have come while the predicate ran.
      guard self.add(shared, ifRevisionIs: revision) else { continue }
      return try await shared.run(query, isolation: isolation, onEnd: { self.remove(shared) })
    }
  }

  /// The context for the layers inside, of which none deduplicates any more.
  @inlinable
  func inner(_ context: QueryContext) -> QueryContext {
    var context = context
    context[QueryContext.DeduplicationKey<Value>.self] = nil
    return context
  }

  @inlinable
  func add(_ shared: SharedFetch<Value>, ifRevisionIs revision: Int) -> Bool {
    self.state.withLock { state in
      guard state.revision == revision else { return false }
      state.revision += 1
      state.fetches.append(shared)
      return true
    }
  }

  @inlinable
  func remove(_ shared: SharedFetch<Value>) {
    self.state.withLock { $0.fetches.removeAll { $0 === shared } }
  }
}
