public import Synchronization

/// One fetch of a store: it runs the request, and feeds its results into the state.
// @unchecked: the variables are guarded by the store's lock.
@usableFromInline
final class StoreFetch<State: QueryStateProtocol>: FetchWork, TaskRunOwner, @unchecked Sendable {
  @usableFromInline typealias Value = State.QueryValue

  /// The task, as the state scheduled it. Released when the fetch ends, with its value: a context of
  /// the fetch may live on.
  @exclusivity(unchecked) @usableFromInline var task: QueryTask<Value>?
  /// Where it shares work; nil: its query is not deduplicated, or it has ended.
  @exclusivity(unchecked) @usableFromInline var table: DeduplicationTable<Value>?
  @exclusivity(unchecked) @usableFromInline var hasStarted = false
  @exclusivity(unchecked) @usableFromInline var isFinished = false
  /// Whether it ended by a cancellation, so that its work may go on and yield.
  @exclusivity(unchecked) @usableFromInline var wasCancelled = false

  @inlinable
  init(store: QueryStore<State>) { super.init(linkedTo: store, lock: store.lock) }

  @inlinable
  var store: QueryStore<State>? {
    // A fetch is linked to the store that it was made for alone.
    self.link.withLock { $0 }.map { unsafeDowncast($0, to: QueryStore<State>.self) }
  }

  override func readStoredValue(in context: QueryContext?) -> StoredValue? {
    self.captureValue(in: context)
  }

  override func take(
    _ note: ValueNote, of page: _PageKey?, in context: QueryContext?
  ) -> (any Sendable)? {
    self.noted(note, of: page, in: context)
  }

  @usableFromInline override func beginPage(_ page: _PageKey, in context: QueryContext) {
    self.noteBeginning(of: page, in: context)
  }

  @usableFromInline override func leaveAttempt() {
    guard let store = self.store else { return }
    store.withLock { self.leaveTable(isTaken: true, isOver: false, in: store) }
    _ = self.share(nil)
  }

  @usableFromInline override func forgetOutcome(in context: QueryContext) {
    self.reportedStore(in: context)?.withLock { self.notes?.outcome = nil }
  }

  @usableFromInline override var queryPath: QueryPath? {
    self.store?.path
  }
}

// MARK: - Running

extension StoreFetch {
  @inlinable
  func run(in context: QueryContext) async throws -> Value {
    guard let store = self.store else { throw CancellationError() }
    let isWanted = self.start(store, in: context)
    self.probeBeginning()
    let recorder = ValueRecorder(work: self, context: context)
    let continuation = QueryContinuation<Value>(noting: recorder) { result, yieldContext in
      self.yield(result, in: yieldContext, workContext: context)
    }
    do {
      // A reset has taken it that came before its thread: a write is not sent any more.
      if !isWanted { throw CancellationError() }
      // A mutation may go down a tree: each call has arguments of its own.
      if State._isFetchedAutomatically, self.isEndless.load(ordering: .relaxed) {
        throw FetchGraph.endlessCall(self)
      }
      let value = try await store.request(context, continuation)
      self.probeEnd(hasFailed: false)
      return try self.finish(store, with: .success(value), in: context).get()
    } catch {
      self.probeEnd(hasFailed: true)
      self.finish(store, with: .failure(error), in: context)
      throw error
    }
  }

  /// - Returns: Whether the store still wants it.
  @inlinable
  func start(_ store: QueryStore<State>, in context: QueryContext) -> Bool {
    store.withLock {
      self.invalidationStamp = store.invalidationStamp
      store.noteBeginning(of: self)
      guard self.generation == store.generation else { return false }
      self.hasStarted = true
      store.emit(.fetchingStarted, in: context)
      return true
    }
  }

  /// Records how the fetch ended.
  ///
  /// - Returns: The result, with the value that stays if the request has kept it.
  @inlinable
  @discardableResult
  func finish(
    _ store: QueryStore<State>,
    with returned: Result<Value, any Error>,
    in context: QueryContext
  ) -> Result<Value, any Error> {
    var result = returned
    // Both are released after the lock.
    var ended: QueryTask<Value>?
    var replaced: ReplacedByFetch<State>?
    self.withLock(of: store, for: result, in: context) {
      let notes = self.source.notes
      if let notes { result = self.kept(by: notes, insteadOf: result) }
      if case .failure(let error) = result { self.wasCancelled = error is CancellationError }
      self.end(in: store, hasResult: !self.wasCancelled)
      let task = self.task.take()
      defer { ended = task }
      if self.generation == store.generation, let task {
        replaced = ReplacedByFetch(in: store._state, by: result, for: task)
        if self.isBrought || self.isOvertaken(task, with: result, in: store)
          || self.isReplaced(task, in: store)
        {
          // Its caller has the result, and the store the same or a newer one.
        } else {
          if let notes {
            self.take(result, notes, for: task, in: store)
          } else {
            self.take(result, for: task, in: store)
          }
          self.didTake(result, for: task, in: store)
        }
        store._state.finishFetchTask(task)
        store.storing?.fetchDidEnd()
        if store.isFollowed(for: .resultReceived) {
          store.emit(result, in: context.with(.returnedFinalResult))
        }
        store.emit(.stateChanged, in: context)
      }
      if self.hasStarted { store.emit(.fetchingEnded, in: context) }
    }
    if !State._isFetchedAutomatically { ended?.context.admittedAttempt?.giveBack() }
    withExtendedLifetime((ended, replaced)) {}
    self.letGo()
    return result
  }

  @usableFromInline
  func yield(
    _ result: Result<Value, any Error>,
    in yieldContext: QueryContext?,
    workContext: QueryContext
  ) {
    var replaced: ReplacedByFetch<State>?
    let isTaken =
      self.store.map { store in
        self.withLock(of: store, for: result, in: workContext) {
          guard !self.isFinished else { return false }
          guard self.generation == store.generation, let task = self.task else { return true }
          let context = self.eventContext(yieldContext, workContext).with(.yieldedResult)
          replaced = ReplacedByFetch(in: store._state, by: result, for: task)
          if case .success = result { self.source.didYield() }
          if !self.isOvertaken(task, with: result, in: store) {
            self.take(result, for: task, in: store)
          }
          store.emit(result, in: context)
          store.emit(.stateChanged, in: context)
          return true
        }
      } ?? false
    withExtendedLifetime(replaced) {}
    if !isTaken, !self.wasCancelled {
      QueryWarning.queryYieldedAfterReturning(result).report()
    }
  }

  /// Runs a body under the lock that takes a result: after the edits are known that its value lacks.
  @inlinable
  func withLock<T>(
    of store: QueryStore<State>, for result: Result<Value, any Error>, in context: QueryContext,
    _ body: () -> T
  ) -> T {
    guard case .success = result, context.queryClient?.optimistic.isActive == true else {
      return store.withLock(body)
    }
    return store.withLockTakingValue(in: context, of: self, body)
  }

  /// Lets the state take a result. The caller holds the lock.
  @inlinable
  func take(
    _ result: Result<Value, any Error>,
    for task: QueryTask<Value>,
    in store: QueryStore<State>
  ) {
    var record: ValueRecord?
    var replaced: ReplacedRecord?
    switch result {
    case .failure:
      if self.isFinished { self.putBackReplaced(for: task, in: store) }
      if self.isCancelledByStore { return }
    case .success(let value):
      if State._isNothing(value) { return }
      if !self.isFinished { replaced = self.keepReplaced(by: value, for: task, in: store) }
      // What is known of the other pages stays.
      if store.tag.record != nil { record = self.recordBeside(value, for: task, in: store) }
    }
    if self.invalidationStamp == store.invalidationStamp {
      store._state.update(with: result, for: task)
    } else {
      store.takeOutdated(result, for: task, stamp: self.stampOfWholeValue(for: task))
    }
    store.didReceive(
      result, record, of: self, isFinal: self.isFinished, isStored: replaced == nil,
      in: task.context)
    if case .success = result { store.replacedRecord = replaced?.behind(store.tag) }
  }

  /// Keeps what a yield is about to replace. The caller holds the lock.
  ///
  /// - Returns: What was kept beside that; nil if the yield is not the beginning of more.
  @usableFromInline
  func keepReplaced(
    by value: Value, for task: QueryTask<Value>, in store: QueryStore<State>
  ) -> ReplacedRecord? {
    guard store._state._keepReplaced(by: value, for: task) else { return nil }
    // What is there may be a yield itself, and not what another one has replaced.
    if let replaced = store.replacedRecord, replaced.yield == store.tag.number { return replaced }
    return ReplacedRecord(yield: store.tag.number, record: store.tag.record)
  }

  /// Puts back what its yields have replaced, since the rest has not come. The caller holds the lock.
  @usableFromInline
  func putBackReplaced(for task: QueryTask<Value>, in store: QueryStore<State>) {
    guard let replaced = store.replacedRecord else { return }
    let yielded = store._state.currentValue
    guard store._state._putBackReplaced(for: task) else { return }
    // Released after the lock.
    store.aftermath.actions.append { withExtendedLifetime(yielded) {} }
    store.tag.replace(replaced.record)
    store.replacedRecord = nil
    store.overlay?.baseDidChange()
    store.persist(.changed)
  }

  /// Whether what it read is older than what the store has: it began before an invalidation, and the
  /// value of a fetch that began after it is there, or the same page of one. The caller holds the lock.
  @inlinable
  func isOvertaken(
    _ task: QueryTask<Value>, with result: Result<Value, any Error>, in store: QueryStore<State>
  ) -> Bool {
    guard self.invalidationStamp != store.invalidationStamp else { return false }
    if self.bringsAll(task) { return self.isOlder(thanValueOf: store) }
    guard State._isFetchedAutomatically, case .success(let value) = result else { return false }
    return self.bringsOlderPages(value, in: store)
  }

  @usableFromInline
  func bringsOlderPages(_ value: Value, in store: QueryStore<State>) -> Bool {
    guard let pages = store._state._fetchedPages(of: value) else { return false }
    if pages.isWhole, self.isOlder(thanValueOf: store) { return true }
    return pages.ids.contains { self.invalidationStamp < store.pageStamps[$0] ?? 0 }
  }

  /// Records of which invalidation the pages know that came alone. The caller holds the lock.
  @usableFromInline
  func stampPages(of value: Value, in store: QueryStore<State>) {
    guard let pages = store._state._fetchedPages(of: value) else { return }
    for page in pages.ids {
      store.pageStamps[page] = max(self.invalidationStamp, store.pageStamps[page] ?? 0)
    }
  }

  @usableFromInline
  func isOlder(thanValueOf store: QueryStore<State>) -> Bool {
    self.invalidationStamp < store.valueStamp || store.hasValueBehindInvalidation
  }

  /// Whether the store has had a later one: the value of a shared fetch that began when this work had ended, and
  /// whose callers were faster, or any value since another caller has brought this very result. The caller
  /// holds the lock.
  @inlinable
  func isReplaced(_ task: QueryTask<Value>, in store: QueryStore<State>) -> Bool {
    // A history has each attempt, and each one's failure by cancellation is its own.
    guard State._isFetchedAutomatically, !self.wasCancelled else { return false }
    if let number = self.endNumber, number <= store.endsBeforeValue, self.bringsAll(task) {
      return true
    }
    guard let taken = self.source.taken, taken.endNumber == self.endNumber else { return false }
    return taken.tag != store.tag.number
  }

  /// Records that the store has the result. The caller holds the lock.
  @inlinable
  func didTake(
    _ result: Result<Value, any Error>, for task: QueryTask<Value>, in store: QueryStore<State>
  ) {
    if self.wasCancelled { return }
    self.source.taken = (store.tag.number, self.endNumber)
    guard case .success(let value) = result else { return }
    if self.bringsAll(task) {
      store.endsBeforeValue = max(self.endsBefore, store.endsBeforeValue)
    } else if store.invalidationStamp > 0 {
      self.stampPages(of: value, in: store)
    }
  }

  /// Whether its result is the whole value, and neither a page beside others, which a newer value may lack,
  /// nor an entry of a history.
  @inlinable
  func bringsAll(_ task: QueryTask<Value>) -> Bool {
    guard State._isFetchedAutomatically else { return false }
    return switch task.context.infiniteFetchKind {
    case .nextPage, .previousPage: false
    case nil, .allPages: true
    }
  }

  /// After which invalidation the value was read, if this reads it whole.
  @inlinable
  func stampOfWholeValue(for task: QueryTask<Value>) -> Int? {
    self.bringsAll(task) ? self.invalidationStamp : nil
  }

  /// Records that the fetch is over. The caller holds the lock.
  ///
  /// - Parameter hasResult: Whether it brings what its work has come to.
  @inlinable
  func end(in store: QueryStore<State>, hasResult: Bool) {
    self.isFinished = true
    store.fetches.remove(self)
    let source = self.source
    source.memberCount -= 1
    if source.memberCount == 0, source.notes != nil {
      (source.notes, source.hadNotes) = (nil, true)
    }
    self.leaveTable(isTaken: hasResult || source.memberCount == 0, isOver: true, in: store)
    self.table = nil
    if !store.automaticFetches.isEmpty, let id = self.task?.id {
      store.automaticFetches.removeAll { $0.id == id }
    }
  }

  /// Tells those that are on their way to share its work. The caller holds the lock.
  @inlinable
  func leaveTable(isTaken: Bool, isOver: Bool, in store: QueryStore<State>) {
    guard
      let forgotten = self.table?
        .didEnd(self, sharing: self.source, isTaken: isTaken, isOver: isOver),
      !forgotten.isEmpty
    else { return }
    // Their results are the user's.
    store.aftermath.actions.append { withExtendedLifetime(forgotten) {} }
  }

  /// The context of a yield, as one of this fetch.
  private func eventContext(
    _ yieldContext: QueryContext?,
    _ workContext: QueryContext
  ) -> QueryContext {
    guard var context = yieldContext else { return workContext }
    context.takeTask(of: workContext)
    return context
  }

  @inlinable
  func letGo() {
    let store = self.link.withLock { link in
      defer { link = nil }
      return link
    }
    withExtendedLifetime(store) {}
  }
}

// MARK: - TaskRunOwner

extension StoreFetch {
  @usableFromInline
  func didEndUnrun(isDropped: Bool) {
    guard let store = self.store else { return }
    // A copy of the task that is released inside the store's lock, in a state's method for example,
    // must not change the state right away.
    if store.isDeferred({ self.didEndUnrun(isDropped: isDropped) }) { return }
    var replaced: ReplacedByFetch<State>?
    var context: QueryContext?
    store.withLock {
      self.end(in: store, hasResult: false)
      context = self.task?.context
      guard self.generation == store.generation, let task = self.task else { return }
      if !isDropped, !self.isCancelledByStore {
        let cancellation = Result<Value, any Error>.failure(CancellationError())
        replaced = ReplacedByFetch(in: store._state, by: cancellation, for: task)
        store._state.update(with: cancellation, for: task)
        store.persist(.changed)
      }
      store._state.finishFetchTask(task)
      store.storing?.fetchDidEnd()
      store.emit(.stateChanged, in: task.context)
      store.tellOfUse()
    }
    context?.admittedAttempt?.giveBack()
    withExtendedLifetime(replaced) {}
    self.letGo()
  }

  @usableFromInline
  func afterLock(_ action: @escaping @Sendable () -> Void) {
    if self.store?.isDeferred(action) != true { action() }
  }

  @usableFromInline
  func didWait(in context: QueryContext) {
    context.deduplicationTable(of: Value.self)?.expectAgain(self)
  }

  @usableFromInline
  func willBeCancelledByStore() { self.store?.withLock { self.isCancelledByStore = true } }

  @usableFromInline
  func ownReceipt() -> FetchReceipt? {
    self.store?.withLock { self.source.requireReceipt() }
  }
}

// MARK: - Reports

extension StoreFetch {
  /// When an event that the request reports itself may come.
  @usableFromInline
  enum ReportScope {
    /// Until this fetch ends, as its yields.
    case fetch
    /// Until the last of the fetches ends that share the work.
    case work
    /// Always: it ends something that began.
    case end
  }

  /// The store that the request reports to: also when this fetch has left work that others share.
  @inlinable
  func reportedStore(in context: QueryContext) -> QueryStore<State>? {
    self.store ?? context.currentStore(of: State.self)
  }

  /// Whether a handler may take events that the request reports itself.
  @inlinable
  func hasHandlers(in context: QueryContext) -> Bool {
    guard let store = self.reportedStore(in: context) else { return false }
    return store.withLock { store.isFollowed(for: .reported) }
  }

  /// Passes an event of the request's, of a page for example, to the store's handlers.
  ///
  /// - Parameters:
  ///   - event: The event, which only the handlers' types know.
  ///   - scope: When it may come. After a reset, only an end may.
  ///   - context: The context of the event, with this fetch's store.
  /// - Returns: Whether the event was taken, rather than dropped.
  @inlinable
  @discardableResult
  func report(_ event: any Sendable, _ scope: ReportScope, in context: QueryContext) -> Bool {
    guard let store = self.reportedStore(in: context) else { return false }
    return store.withLock {
      let isDue =
        switch scope {
        case .fetch: !self.isFinished && self.generation == store.generation
        case .work: self.memberCount > 0 && self.generation == store.generation
        case .end: true
        }
      if isDue { store.emitReport(event, in: context) }
      return isDue
    }
  }
}

/// What a result of a fetch replaces in a state, to be released after the store's lock: the `deinit` of
/// a value or an error may read the store, which it must not do in the midst of a change.
@usableFromInline
struct ReplacedByFetch<State: QueryStateProtocol> {
  @usableFromInline let value: State.StateValue?
  @usableFromInline let error: (any Error)?

  @inlinable
  init(
    in state: State,
    by result: Result<State.QueryValue, any Error>,
    for task: QueryTask<State.QueryValue>
  ) {
    self.value = state._replacedValue(by: result, for: task)
    self.error = state.error
  }
}
