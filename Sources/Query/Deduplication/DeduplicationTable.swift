/// The running fetches of one store, which may be shared. All copies are one table.
@usableFromInline
struct DeduplicationTable<Value: Sendable>: Sendable {
  /// Guarded by the mutex.
  @usableFromInline
  struct State {
    @usableFromInline var fetches = [SharedFetch<Value>]()
    /// Incremented by each fetch that is added.
    @usableFromInline var revision = 0
    /// How many fetches have ended.
    @usableFromInline var ends = 0
    /// How many were made, and are on their way here.
    @usableFromInline var expected = 0
    /// Those that have ended, until their store has the result and nobody is on the way to them.
    @usableFromInline var ended = [Ended]()

    @inlinable
    init() {}
  }

  @usableFromInline
  struct Ended: Sendable {
    /// How many had ended with it.
    @usableFromInline let number: Int
    @usableFromInline let fetch: SharedFetch<Value>
    /// Whether its store has the result, or the fetch that did the work is over.
    @usableFromInline var isTaken: Bool

    @inlinable
    init(number: Int, fetch: SharedFetch<Value>, isTaken: Bool) {
      (self.number, self.fetch, self.isTaken) = (number, fetch, isTaken)
    }
  }

  /// What is not kept any more, to be released outside all locks: its results are the user's.
  @usableFromInline typealias Released = [any AnyObject & Sendable]

  /// How many are kept that have ended. A fetch that comes later than so many ends does its own work.
  @inlinable static var endedLimit: Int { 8 }

  @usableFromInline let state = Locked(State())

  @inlinable
  init() {}

  /// Fetches, or waits for a fetch that does the same.
  @inlinable
  func fetch<Query: QueryRequest>(
    _ query: Query,
    in context: QueryContext,
    with continuation: QueryContinuation<Value>,
    isDuplicate: @Sendable (QueryContext, QueryContext) -> Bool
  ) async throws -> Value where Query.Value == Value {
    let own = context.fetchWork
    while true {
      let (fetches, missed, revision) = self.state.withLock { state in
        (state.fetches, state.missed(by: own), state.revision)
      }
      // The predicate is user code, so it is not called under the lock.
      func isShared(_ shared: SharedFetch<Value>) -> Bool {
        // A context may have come from another store, and the table with it. An answer that may be too old
        // for this fetch is not shared.
        shared.context.isOfSameStore(as: context) && !shared.refuses(own)
          && isDuplicate(shared.context, context) && own?.share(shared.work) != false
      }
      let duplicate = fetches.first(where: isShared) ?? missed.last(where: isShared)
      if let shared = duplicate {
        if let own, let leader = shared.work,
          let circle = FetchGraph.beginWait(of: own, for: leader)
        {
          own.share(nil)
          self.arrive(own)
          try FetchGraph.separate(own, from: circle)
          return try await query.fetch(in: self.inner(context), with: continuation)
        }
        defer { if let own, let leader = shared.work { FetchGraph.endWait(of: own, for: leader) } }
        guard let member = shared.join() else {
          if let own, own.endsSeen != nil, let result = shared.sharedResult {
            // It was under way when this fetch was made, or later.
            self.arrive(own)
            return try result.get()
          }
          // It has just ended, and is about to leave the table.
          own?.share(nil)
          self.remove(shared)
          continue
        }
        self.arrive(own)
        return try await shared.value(
          for: member, isolation: #isolation, onLeave: { self.remove(shared) })
      }
      // An earlier attempt may have shared the work of another fetch. Only the fetch itself changes that.
      if own?.leader.object != nil { own?.share(nil) }
      // No caller may join a fetch that is cancelled from the start.
      if Task.isCancelled {
        self.arrive(own)
        return try await query.fetch(in: self.inner(context), with: continuation)
      }
      let shared = SharedFetch(context: self.inner(context), continuation: continuation)
      // Another first fetch may have come while the predicate ran.
      guard self.add(shared, ifRevisionIs: revision) else { continue }
      self.arrive(own)
      return try await shared.run(query, isolation: #isolation, onEnd: { self.end(shared) })
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
    let forgotten = self.state.withLock { state -> Released? in
      guard state.revision == revision else { return nil }
      state.revision += 1
      shared.work?.endsBefore = state.ends
      state.fetches.append(shared)
      // What an earlier attempt has ended with is nobody's result any more.
      return shared.work.map { state.take(from: $0) } ?? []
    }
    withExtendedLifetime(forgotten) {}
    return forgotten != nil
  }

  @inlinable
  func remove(_ shared: SharedFetch<Value>) {
    self.state.withLock { $0.fetches.removeAll { $0 === shared } }
  }

  /// Removes a fetch that is over, and keeps it for those that are on their way to it.
  @inlinable
  func end(_ shared: SharedFetch<Value>) {
    let isKept = shared.work != nil && !shared.state.withLock { $0.isAbandoned }
    let forgotten = self.state.withLock { state -> Ended? in
      state.fetches.removeAll { $0 === shared }
      guard isKept else { return nil }
      state.ends += 1
      shared.work?.endNumber = state.ends
      // Its first caller may have left it behind. Then a fetch that is made from now on does its own work, as the
      // store may never have this result.
      let isTaken = shared.work?.hasLeftTable == true
      state.ended.append(Ended(number: state.ends, fetch: shared, isTaken: isTaken))
      return state.ended.count > Self.endedLimit ? state.ended.removeFirst() : nil
    }
    withExtendedLifetime(forgotten) {}
  }
}

// MARK: - Those on their way

extension DeduplicationTable {
  /// Keeps what ends from now on for a fetch that was just made, and what has ended without its store
  /// having the result, until the fetch arrives: what was under way when it was made is shared, however
  /// late it comes.
  @inlinable
  func expect(_ work: FetchWork) {
    self.state.withLock { state in
      state.expected += 1
      state.expect(work)
    }
  }

  /// Keeps what ends from now on for a fetch that has waited on its way here, and no longer what ended
  /// meanwhile.
  @usableFromInline
  func expectAgain(_ work: FetchWork) {
    let forgotten = self.state.withLock { state -> Released in
      // One that has come already stays as it is.
      if work.endsSeen == nil { return [] }
      let before = work.openEnds
      state.expect(work)
      return before
    }
    withExtendedLifetime(forgotten) {}
  }

  /// Notes that a fetch has come, or has ended without.
  @inlinable
  func arrive(_ work: FetchWork?) {
    guard let work else { return }
    let forgotten = self.state.withLock { $0.arrive(work) }
    withExtendedLifetime(forgotten) {}
  }

  /// Notes that a fetch has ended, or an attempt of it.
  ///
  /// - Parameters:
  ///   - source: The fetch that did the work.
  ///   - isTaken: Whether the store has its result now, or nobody waits for it any more.
  ///   - isOver: Whether there is no other attempt.
  @inlinable
  func didEnd(
    _ work: FetchWork, sharing source: FetchWork, isTaken: Bool, isOver: Bool
  ) -> Released {
    self.state.withLock { state in
      if isOver { work.hasLeftTable = true }
      // The source may be at its next attempt.
      if source !== work {
        (work.endsBefore, work.endNumber) = (source.endsBefore, source.endNumber)
      }
      var forgotten = state.arrive(work)
      // As a rule nothing has ended that somebody waits for.
      if state.ended.isEmpty { return forgotten }
      if isTaken { forgotten += state.take(from: source) }
      if isOver, source !== work { forgotten += state.take(from: work) }
      return forgotten
    }
  }
}

extension DeduplicationTable.State {
  /// Lets a fetch that is on its way know what has ended without its store having the result.
  @inlinable
  func expect(_ work: FetchWork) {
    work.endsSeen = self.ends
    work.openEnds = self.ended.isEmpty ? [] : self.ended.filter { !$0.isTaken }.map(\.fetch)
  }

  /// What was under way when a fetch was made that has not arrived, or later, and has ended.
  @inlinable
  func missed(by work: FetchWork?) -> [SharedFetch<Value>] {
    guard let work, let seen = work.endsSeen else { return [] }
    let later = self.ended.isEmpty ? [] : self.ended.filter { $0.number > seen }.map(\.fetch)
    if work.openEnds.isEmpty { return later }
    return work.openEnds.compactMap { $0 as? SharedFetch<Value> } + later
  }

  @inlinable
  mutating func arrive(_ work: FetchWork) -> DeduplicationTable.Released {
    if work.endsSeen == nil { return [] }
    work.endsSeen = nil
    self.expected -= 1
    if work.openEnds.isEmpty { return self.forget() }
    defer { work.openEnds = [] }
    return work.openEnds + self.forget()
  }

  /// Notes that nobody waits any more for what a work has ended with.
  @inlinable
  mutating func take(from work: FetchWork) -> DeduplicationTable.Released {
    if self.ended.isEmpty { return [] }
    for index in self.ended.indices where self.ended[index].fetch.work === work {
      self.ended[index].isTaken = true
    }
    return self.forget()
  }

  /// Forgets what nobody can want any more.
  @inlinable
  mutating func forget() -> DeduplicationTable.Released {
    if self.ended.isEmpty || self.expected > 0 { return [] }
    let forgotten = self.ended.filter(\.isTaken).map(\.fetch)
    self.ended.removeAll(where: \.isTaken)
    return forgotten
  }
}
