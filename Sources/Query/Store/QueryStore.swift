import FoundationEssentials
public import Synchronization

/// The runtime of one request: it fetches, holds the state, and tells subscribers of changes.
///
/// A ``QueryClient`` makes and keeps stores; `detached(query:)` makes one outside any client,
/// without defaults.
/// ```swift
/// let store = client.store(for: PlayerQuery(id: 200))
/// let subscription = store.subscribe(
///   with: QueryEventHandler(onStateChanged: { state, _ in print(state.status) })
/// )
/// let player = try await store.fetch()
/// ```
/// All properties of the state are properties of the store: `store.isLoading`, `store.error`.
///
/// A store is released when nothing holds it. Its client, its running tasks, un-run tasks that the
/// program holds, and iterators of ``states`` keep it; subscriptions do not.
///
/// Locking: everything below `lock` is read and written under that lock, which the same thread may
/// take again (``withExclusiveAccess(_:)``, and a state that cancels its tasks, need that). The
/// consequences of a change are queued under the lock and carried out after the outermost holder
/// has released it: no handler, controller, condition, cancellation or observer of a user runs
/// under it.
// @unchecked: see above; `lock` guards all variables.
@dynamicMemberLookup
public final class QueryStore<State: QueryStateProtocol>: QueryPathable, @unchecked Sendable {
  @usableFromInline
  typealias Fetch =
    @Sendable (QueryContext, QueryContinuation<State.QueryValue>) async throws -> State.QueryValue

  /// The path of the request.
  public let path: QueryPath

  @usableFromInline let lock = RecursiveLock()

  // What each change uses stands together, before the state, whose size only the caller's module knows.
  /// How often the thread that holds the lock has taken it.
  @exclusivity(unchecked) @usableFromInline var lockDepth = 0
  @exclusivity(unchecked) @usableFromInline var aftermath = StoreAftermath()
  @exclusivity(unchecked) @usableFromInline var observation: ObservationAnchor?
  /// Writes the state to a storage, if the query is persisted.
  @exclusivity(unchecked) @usableFromInline var storing: StoreAttachment<State>?
  /// What is laid over the value; nil as long as there was no edit for this store.
  @exclusivity(unchecked) @usableFromInline var overlay: StoreOverlay<State>?
  @exclusivity(unchecked) @usableFromInline var mailboxes = MemberList<EventMailbox<State>>()
  /// The kinds of events that some handler takes, or that one took that has left before the others.
  @exclusivity(unchecked) @usableFromInline var followedEvents: StoreEventKinds = []
  @exclusivity(unchecked) @usableFromInline var _context: QueryContext
  @exclusivity(unchecked) @usableFromInline var valueOrigin = ValueOrigin.initial
  /// Which value it is, and what is kept beside it.
  @exclusivity(unchecked) @usableFromInline var tag = ValueTag()
  @usableFromInline var _state: State

  /// Replaced before any other thread sees the store, if a wrapper goes around the request.
  @exclusivity(unchecked) @usableFromInline var request: Fetch
  /// Tells the contexts that were set up for this store from those of others.
  @usableFromInline let setupNumber: Int
  /// Incremented by each reset, so that results of earlier fetches can be told apart.
  @exclusivity(unchecked) @usableFromInline var generation = 0
  /// The empty link at the end of the log of events; there since the first handler was.
  @exclusivity(unchecked) @usableFromInline var logEnd: EventLink<State>?
  /// The fetches that are scheduled or running.
  @exclusivity(unchecked) @usableFromInline var fetches = MemberList<StoreFetch<State>>()
  @exclusivity(unchecked) @usableFromInline var subscribers = 0
  /// Called when the first subscriber has come, and when the last one has left.
  @exclusivity(unchecked) @usableFromInline var attendanceHandlers = [@Sendable () -> Void]()
  /// How often the value was invalidated. A fetch whose work began before the last time does not make
  /// it fresh.
  @exclusivity(unchecked) @usableFromInline var invalidationStamp = 0
  /// The stamp of the value, if it was invalidated since: what was read before it does not take its place.
  @exclusivity(unchecked) @usableFromInline var valueStamp = 0
  /// The stamps of pages that came alone since the first invalidation, as ``valueStamp`` of a whole value.
  @exclusivity(unchecked) @usableFromInline var pageStamps = [_PageKey: Int]()
  /// What was kept beside a list that the pages so far of a refetch have replaced.
  @exclusivity(unchecked) @usableFromInline var replacedRecord: ReplacedRecord?
  /// How many fetches of its ``DeduplicationTable`` had ended when the last one began whose value it has had.
  @exclusivity(unchecked) @usableFromInline var endsBeforeValue = 0
  /// The automatic fetches that have not ended; the last subscriber takes them along.
  @exclusivity(unchecked) @usableFromInline var automaticFetches = [QueryTask<State.QueryValue>]()
  /// Whether an automatic fetch waits for the stored value.
  @exclusivity(unchecked) @usableFromInline var isAutomaticFetchPutOff = false
  /// How often all fetches were taken by a reset or a cancellation: what waits for the stored value before it
  /// fetches asks whether they were meanwhile.
  @exclusivity(unchecked) @usableFromInline var takings = 0
  /// How many calls of ``beginUse()`` have not been ended.
  @exclusivity(unchecked) @usableFromInline var callers = 0
  /// Tells the cache that has given the store up of its next use.
  @exclusivity(unchecked) @usableFromInline var comeBack: ComeBack?
  /// Whether a cache may give the store up; written under the lock, and read under the cache's.
  @usableFromInline let isRetired = Atomic(false)
  @exclusivity(unchecked) @usableFromInline var controllerSubscription = QuerySubscription.empty
  @exclusivity(unchecked) @usableFromInline var reference: StoreReference?
  @exclusivity(unchecked) @usableFromInline var taskNames: TaskNames?
  @exclusivity(unchecked) @usableFromInline var knownTaskContext: TaskContext?
  /// Returns the type of the request that a client made this store for. A launch need not make that type to
  /// show a value.
  @exclusivity(unchecked) @usableFromInline var makeRequestType: (@Sendable () -> Any.Type)?

  @inlinable
  init(path: QueryPath, state: State, context: QueryContext) {
    self.path = path
    self._state = state
    self._context = context
    self.setupNumber = context.setupNumber
    self.request = { _, _ in
      preconditionFailure("The request of a store is set before its first fetch.")
    }
  }

  deinit {
    self.controllerSubscription.cancel()
    self.lock.destroy()
  }
}

// MARK: - Locking

/// The consequences of changes under a store's lock, carried out once the lock is free.
@usableFromInline
struct StoreAftermath {
  @usableFromInline var hasEvents = false
  /// What Observation is to announce.
  @usableFromInline var changes: ObservedParts = []
  @usableFromInline var hasUnsettledEdits = false
  @usableFromInline var actions = [@Sendable () -> Void]()

  @inlinable
  init() {}

  @inlinable
  var isEmpty: Bool {
    !self.hasEvents && self.changes.isEmpty && !self.hasUnsettledEdits && self.actions.isEmpty
  }
}

extension QueryStore {
  @inlinable
  func withLock<T>(_ body: () throws -> T) rethrows -> T {
    self.enter()
    defer { self.leave() }
    return try body()
  }

  @inlinable
  func enter() {
    self.lock.lock()
    self.lockDepth += 1
  }

  @inlinable
  func leave() {
    self.lockDepth -= 1
    if self.lockDepth > 0 || self.aftermath.isEmpty {
      self.lock.unlock()
    } else {
      self.leaveAndCarryOut()
    }
  }

  @inlinable
  func leaveAndCarryOut() {
    let aftermath = self.aftermath
    self.aftermath = StoreAftermath()
    let observation = aftermath.changes.isEmpty ? nil : self.observation
    let overlay = aftermath.hasUnsettledEdits ? self.overlay : nil
    let mailboxes = aftermath.hasEvents ? self.mailboxes.members : AnyMemberList()
    // They are called without counting references: the copy of the list holds them.
    mailboxes.withUncountedMembers { mailboxes in
      self.lock.unlock()
      FetchGraph.outside {
        overlay?.settle(self)
        for mailbox in mailboxes {
          mailbox._withUnsafeGuaranteedRef {
            unsafeDowncast($0, to: EventMailbox<State>.self).deliver()
          }
        }
        observation?.announceChange(of: aftermath.changes)
        for action in aftermath.actions { action() }
      }
    }
  }

  /// Logs a result for all handlers. The caller holds the lock.
  @inlinable
  func emit(_ result: Result<State.QueryValue, any Error>, in context: QueryContext) {
    if self.overlay == nil, !self.isFollowed(for: .resultReceived) { return }
    let event = StoreResultEvent(result, state: self._state, context: context)
    if self.overlay == nil { self.append(event) } else { self.logOverlaid(event) }
  }

  /// Logs an event without a result for all handlers. The caller holds the lock.
  @inlinable
  func emit(_ kind: StoreEventKind, in context: QueryContext) {
    if self.overlay != nil || self.isFollowed(for: kind) {
      self.emitToHandlers(kind, in: context, nil)
    } else if kind == .stateChanged {
      self.noteObservedChange(to: self._state)
    }
  }

  /// Logs what a task tells of itself for all handlers. The caller holds the lock.
  @inlinable
  func emitReport(_ report: any Sendable, in context: QueryContext) {
    if self.overlay != nil || self.isFollowed(for: .reported) {
      self.emitToHandlers(.reported, in: context, report)
    }
  }

  /// Whether a handler may take events of a kind. The caller holds the lock.
  @inlinable
  func isFollowed(for kind: StoreEventKind) -> Bool {
    self.followedEvents.contains(StoreEventKinds(kind))
  }

  /// Lets a mailbox take the events from here on. The caller holds the lock.
  @inlinable
  func add(_ mailbox: EventMailbox<State>) {
    self.mailboxes.append(mailbox)
    self.followedEvents.formUnion(mailbox.handler.kinds)
  }

  /// Removes a mailbox, if it is there. The caller holds the lock.
  @inlinable
  func remove(_ mailbox: EventMailbox<State>) {
    self.mailboxes.remove(mailbox)
    if self.mailboxes.isEmpty { self.followedEvents = [] }
  }

  // Not inlined: the type of the event would be looked up for stores that nobody follows, too.
  @inlinable
  @inline(never)
  func emitToHandlers(
    _ kind: StoreEventKind, in context: QueryContext, _ report: (any Sendable)?
  ) {
    let event = StoreEvent(kind, state: self._state, context: context, report: report)
    if self.overlay != nil { return self.logOverlaid(event) }
    if kind == .stateChanged { self.noteObservedChange(to: self._state) }
    self.append(event)
  }

  @inlinable
  func append(_ event: StoreEvent<State>) {
    let next = EventLink<State>()
    self.ownLogEnd().fill(with: event, next: next)
    self.logEnd = next
    self.aftermath.hasEvents = true
  }

  @inlinable
  func ownLogEnd() -> EventLink<State> {
    if let end = self.logEnd { return end }
    let end = EventLink<State>()
    self.logEnd = end
    return end
  }

  /// Gives exclusive access to the store: no other thread changes it meanwhile.
  ///
  /// All members may be used inside. The events of changes made there are delivered when the
  /// outermost access ends.
  ///
  /// - Parameter fn: Runs under the store's lock, so it must not wait for another thread.
  @inlinable
  public func withExclusiveAccess<T>(
    _ fn: (QueryStore<State>) throws -> sending T
  ) rethrows -> sending T {
    self.enter()
    defer { self.leave() }
    return try fn(self)
  }
}

// MARK: - State

extension QueryStore {
  /// The current state. Observation tells its readers of every change of the store.
  @inlinable
  public var state: State {
    self.observed(.rest) { self.overlay == nil ? self._state : self.overlaidState() }
  }

  /// A property of the current state. Observation tells its readers of every change of the store, but for
  /// ``currentValue``, ``isLoading`` and ``error``, whose readers it tells of changes of these.
  @inlinable
  public subscript<T: Sendable>(dynamicMember keyPath: KeyPath<State, T>) -> T {
    self.observed(.rest) {
      self.overlay == nil ? self._state[keyPath: keyPath] : self.overlaidState()[keyPath: keyPath]
    }
  }

  /// Whether any fetch is scheduled or running. Observation tells its readers if that changes.
  @inlinable
  public var isLoading: Bool {
    self.observed(.isLoading) {
      self.overlay == nil ? self._state.isLoading : self.overlaidState().isLoading
    }
  }

  /// The error of the last update, or `nil` if it succeeded. Observation tells its readers of each other
  /// error, and if there is none any more.
  @inlinable
  public var error: (any Error)? {
    self.observed(.error) {
      self.overlay == nil ? self._state.error : self.overlaidState().error
    }
  }

  /// The value of the state. Setting it is a successful update by hand.
  ///
  /// With the edits of mutations that it does not have yet: see ``MutationRequest/optimistic(on:whenDead:_:)``.
  /// They are laid over a value that is set, too. A change in place, such as
  /// `store.currentValue.append(note)`, changes the value beneath them.
  ///
  /// Observation tells its readers of each other value, and not of a fetch that begins or fails, nor of
  /// one that confirms the value.
  @inlinable
  public var currentValue: State.StateValue {
    get {
      self.observed(.value) {
        self.overlay == nil ? self._state.currentValue : self.overlaidState().currentValue
      }
    }
    _modify {
      var value = self.baseValue
      yield &value
      self.setResult(to: .success(value))
    }
    set { self.setResult(to: .success(newValue)) }
  }

  /// The context that later fetches start with. Reading and writing are each atomic.
  @inlinable
  public var context: QueryContext {
    get { self.withLock { self._context } }
    set {
      var new = newValue
      if self.isOfAnotherStore(new) { self.adopt(&new) }
      new = new.withoutTask
      // The old one is released after the lock.
      let old = self.withLock {
        let old = (self._context, self.knownTaskContext)
        self._context = new
        self.knownTaskContext = nil
        return old
      }
      withExtendedLifetime(old) {}
    }
  }

  /// Sets a value or an error by hand.
  ///
  /// - Parameters:
  ///   - result: The value or the error.
  ///   - context: Supplies the clock and is the context of the event; nil to use the store's.
  @inlinable
  public func setResult(
    to result: Result<State.StateValue, any Error>,
    using context: QueryContext? = nil
  ) {
    let given = context?.withoutTask
    let replaced = self.withLock {
      if self.overlay != nil, self.isSetInsideEdit() { return Self.replaceable(self._state) }
      let context = given ?? self._context
      let replaced = Self.update(&self._state, with: result, using: context)
      if case .success = result {
        self.valueOrigin = .local
        self.tag.replace()
        self.overlay?.baseDidChange()
        self.storing?.didSetByHand()
      }
      self.persist(.changed)
      self.emit(.stateChanged, in: context)
      return replaced
    }
    // Its `deinit` may read the store.
    withExtendedLifetime(replaced) {}
  }

  /// Takes an update in one access to the state.
  ///
  /// - Returns: What it replaces.
  @inlinable
  static func update(
    _ state: inout State,
    with result: Result<State.StateValue, any Error>,
    using context: QueryContext
  ) -> (State.StateValue, (any Error)?) {
    let replaced = Self.replaceable(state)
    state.update(with: result, using: context)
    return replaced
  }

  @inlinable
  static func replaceable(_ state: borrowing State) -> (State.StateValue, (any Error)?) {
    (state.currentValue, state.error)
  }

  /// Goes back to a fresh state: tasks are cancelled, and nothing that they still produce arrives.
  ///
  /// Context, subscriptions, controllers and the initial value stay. Nothing is fetched.
  ///
  /// - Parameter context: The context of the event; nil to use the store's.
  public func reset(using context: QueryContext? = nil) {
    for end in self.takeReset(using: context) { end() }
  }

  /// Goes back to a fresh state.
  ///
  /// - Returns: What ends the tasks that the state has cancelled: see ``TaskRun/takeCancellation()``.
  @usableFromInline
  func takeReset(using context: QueryContext?) -> [@Sendable () -> Void] {
    let given = context?.withoutTask
    let (replaced, ends) = self.withLock {
      () -> ((State.StateValue, (any Error)?), [@Sendable () -> Void]) in
      let replaced = Self.replaceable(self._state)
      var ends = [@Sendable () -> Void]()
      if self.overlay != nil, self.isSetInsideEdit() { return (replaced, ends) }
      let context = given ?? self._context
      swap(&ends, &self.aftermath.actions)
      self.resetWhileLocked(using: context)
      swap(&ends, &self.aftermath.actions)
      self.emit(.stateChanged, in: context)
      return (replaced, ends)
    }
    withExtendedLifetime(replaced) {}
    // The caller may hold the lock.
    return ends.map { end in { if !self.isDeferred(end) { FetchGraph.outside(end) } } }
  }

  /// Takes the fetches that wait for the stored value. The caller holds the lock.
  func takePutOffFetches() {
    self.isAutomaticFetchPutOff = false
    self.takings += 1
  }

  /// The caller holds the lock, and tells of the change.
  func resetWhileLocked(using context: QueryContext) {
    self.generation += 1
    self.takePutOffFetches()
    if self._state.isLoading { self.tellOfUse() }
    self._state.reset(using: context)
    self.valueOrigin = .initial
    self.tag.replace()
    self.pageStamps = [:]
    self.replacedRecord = nil
    self.storing?.stateDidReset()
    self.overlayDidReset()
  }
}

// MARK: - Conditions

extension QueryStore {
  /// Whether an automatic fetch would be due, by the staleness modifiers of the request.
  ///
  /// A store whose request has no such modifier is always stale, and so is an invalidated one.
  public var isStale: Bool { self.lookAtAge().isStale }

  /// Whether the value is stale, and which value that is.
  ///
  /// It evaluates the user's conditions, outside the lock.
  func lookAtAge() -> (isStale: Bool, number: Int, date: Date?) {
    let (state, context, tag) = self.withLock { (self._state, self._context, self.tag) }
    let isStale = context.staleWhenRevalidateCondition.evaluate(
      state: state, freshFor: tag.record?.freshFor, in: context)
    return (isStale, tag.number, state.valueLastUpdatedAt)
  }

  /// Whether the store fetches by itself, when it is first subscribed to for example.
  public var isAutomaticFetchingEnabled: Bool {
    let context = self.context
    return context.enableAutomaticFetchingCondition.isSatisfied(in: context)
  }
}
