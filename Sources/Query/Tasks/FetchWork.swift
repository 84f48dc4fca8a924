import CProbes
public import Synchronization

/// The work of one fetch, as the other fetches of its store know it.
// @unchecked: the store's lock guards the variables, but for those of FetchGraph.
@usableFromInline
class FetchWork: ListMember, @unchecked Sendable {
  /// The store. Released when the fetch ends, so that a context or a continuation that outlives it does not
  /// keep the store alive. Of no generic type: what is asked for it through a protocol is not specialised.
  @usableFromInline final let link: Locked<(any AnyObject & Sendable)?>
  /// The lock of the store, which frees it: good while the link is there.
  private final let storeLock: RecursiveLock

  /// How often the store had been reset when the fetch was made; -1 once it was revoked.
  @exclusivity(unchecked) @usableFromInline final var generation = 0
  /// How often the store had been invalidated when the work began.
  @exclusivity(unchecked) @usableFromInline final var invalidationStamp = 0
  /// The fetch that does the work, if this one shares the work of another.
  @exclusivity(unchecked) @usableFromInline final var leader = ChainLink<FetchWork>()
  /// How many fetches share this work and have not ended, this one included.
  @exclusivity(unchecked) @usableFromInline final var memberCount = 1
  /// How many fetches of its ``DeduplicationTable`` had ended when the work began there, and when it had ended
  /// itself; nil: it has not. Guarded by the table's lock; one that shares the work copies them at its end.
  @exclusivity(unchecked) @usableFromInline final var endsBefore = 0
  @exclusivity(unchecked) @usableFromInline final var endNumber: Int?
  /// Whether the fetch is over, so that nobody keeps what its work comes to for it. Guarded by the table's lock.
  @exclusivity(unchecked) @usableFromInline final var hasLeftTable = false
  /// The number of the ``ValueTag`` with which the store had the result of this work, and the end number of
  /// that, since an attempt that follows has another; nil: it has not.
  @exclusivity(unchecked) @usableFromInline final var taken: (tag: Int, endNumber: Int?)?
  /// What it has to do with pages; nil: nothing, as most.
  @exclusivity(unchecked) private final var paging: PagingWork?
  /// The newest end of a mutation that was known when the work began; nil if its store asks for none.
  @exclusivity(unchecked) @usableFromInline final var mark: Int64?
  /// When the work began; nil if its store's value is not stored.
  @exclusivity(unchecked) @usableFromInline final var beganAt: BootInstant?
  /// What the request says of the mutations that its answer includes, if it says anything.
  @exclusivity(unchecked) @usableFromInline final var receipt: FetchReceipt?
  /// Whether the store itself has cancelled the fetch, so that its failure is nobody's.
  @exclusivity(unchecked) @usableFromInline final var isCancelledByStore = false

  /// Whether another fetch of the store was under way when this one was made, whose work it will share as a
  /// rule. Set before anybody else knows the work.
  @exclusivity(unchecked) @usableFromInline final var isBesideAnother = false
  /// How many shared fetches had ended when it was made, and those of them of which the store had no result
  /// yet, while it has not come to share one. Guarded by the lock of its ``DeduplicationTable``.
  @exclusivity(unchecked) @usableFromInline final var endsSeen: Int?
  @exclusivity(unchecked) @usableFromInline final var openEnds = [any AnyObject & Sendable]()
  /// Whether the store has taken its result with what was noted of it, by a fetch that ended before this one
  /// came to share it.
  @exclusivity(unchecked) @usableFromInline final var isBrought = false

  /// What the request has noted of its value; nil: nothing, as most do. Released with the last member.
  @exclusivity(unchecked) @usableFromInline final var notes: FetchNotes?
  @exclusivity(unchecked) @usableFromInline final var hadNotes = false
  /// The page that is being fetched.
  @exclusivity(unchecked) @usableFromInline final var page: _PageKey?
  /// The pages before that one, as long as there is no receipt.
  @exclusivity(unchecked) private final var earlierPages = Set<_PageKey>()

  // Guarded by FetchGraph.
  /// The fetches that this one waits for, and how many wait for it.
  @exclusivity(unchecked) final var awaited = AwaitedWorks()
  @exclusivity(unchecked) final var awaiterCount = 0
  /// The first of those that wait for it whose work has called it.
  @exclusivity(unchecked) final var caller: Unmanaged<FetchWork>?
  /// Whether it does its own work, since it would have waited for itself.
  @exclusivity(unchecked) final var isSeparate = false

  /// Whether it is called by fetches of its own store over and over, so that it fails.
  @usableFromInline final let isEndless = Atomic(false)

  @usableFromInline
  init(linkedTo store: any AnyObject & Sendable, lock: RecursiveLock) {
    self.link = Locked(store)
    self.storeLock = lock
    super.init()
  }

  /// The path of the query that is fetched.
  @usableFromInline var queryPath: QueryPath? { nil }

  /// The value that the store has, for the request to ask its server about.
  func readStoredValue(in context: QueryContext?) -> StoredValue? { nil }

  /// Notes what the request says of a value.
  ///
  /// - Returns: The value that stays; nil if there is none.
  func take(_ note: ValueNote, of page: _PageKey?, in context: QueryContext?) -> (any Sendable)? {
    nil
  }

  /// Begins the fetch of a page: nothing is noted of it.
  @usableFromInline func beginPage(_ page: _PageKey, in context: QueryContext) {}

  /// Forgets what an attempt has noted that is tried again. Pages that it has fetched stay.
  @usableFromInline func forgetOutcome(in context: QueryContext) {}

  /// Ends an attempt that is tried again: nobody shares what it has ended with any more, nor does it share the work
  /// of another fetch.
  @usableFromInline func leaveAttempt() {}

  /// The `InfiniteQueryPagingRequest` that the work is for; nil while it is not decided.
  @usableFromInline final var pagingRequest: (any Sendable)? {
    get { self.paging?.request }
    set { if newValue != nil || self.paging != nil { self.ownPaging().request = newValue } }
  }

  /// The `InfiniteQueryPagingRequest` of the page that was asked for when the fetch was made; nil if others are
  /// to be waited for, which may change it. Set before anybody else knows the work.
  @usableFromInline final var wantedPage: (any Sendable)? {
    get { self.paging?.wanted }
    set { if newValue != nil || self.paging != nil { self.ownPaging().wanted = newValue } }
  }

  /// The `PageTarget` of an attempt at one page that has not succeeded; nil if there was none.
  @usableFromInline final var pageTarget: (any Sendable)? {
    get { self.paging?.target }
    set { if newValue != nil || self.paging != nil { self.ownPaging().target = newValue } }
  }

  /// Whether the request has yielded a value in an attempt that has not succeeded: the list may say already what
  /// comes behind it.
  @usableFromInline final var hasYieldedPage: Bool {
    get { self.paging?.hasYielded ?? false }
    set { self.paging?.hasYielded = newValue }
  }

  /// Records that the request has yielded a value.
  @usableFromInline final func didYield() {
    // It is another value than the one that the request may have spoken of.
    self.notes?.outcome = nil
    self.hasYieldedPage = true
  }

  /// Begins to fetch a page. The caller holds the store's lock.
  final func begin(_ page: _PageKey) {
    if let receipt = self.receipt {
      receipt.begin(page)
    } else if let earlier = self.page, earlier != page {
      self.earlierPages.insert(earlier)
    }
    self.page = page
  }

  /// The receipt, which is made when it is first asked for: most requests say nothing of mutations. The caller
  /// holds the store's lock.
  final func requireReceipt() -> FetchReceipt {
    if let receipt { return receipt }
    let receipt = FetchReceipt()
    for page in self.earlierPages { receipt.begin(page) }
    self.earlierPages = []
    if let page { receipt.begin(page) }
    self.receipt = receipt
    return receipt
  }

  private final func ownPaging() -> PagingWork {
    if let paging { return paging }
    let paging = PagingWork()
    self.paging = paging
    return paging
  }

  final func isOfSameStore(as other: FetchWork) -> Bool {
    self.storeLock.isSame(as: other.storeLock)
  }

  /// The work that the result of this fetch comes from.
  @inlinable
  final var source: FetchWork { self.leader.object ?? self }

  /// Records that this fetch shares the work of another one of its store, or, with nil, does its own again.
  ///
  /// - Returns: False, and nothing is recorded, if the other one began before an invalidation that this one
  ///   came after: its answer may be too old.
  @discardableResult
  @usableFromInline final func share(_ leader: FetchWork?) -> Bool {
    // A fetch that meets its own work will find that it would wait for itself.
    guard leader !== self, let store = self.link.withLock({ $0 }) else { return true }
    let former: FetchWork?
    self.storeLock.lock()
    // Released after the lock.
    defer {
      self.storeLock.unlock()
      withExtendedLifetime((store, former)) {}
    }
    former = self.leader.object
    if let leader, leader.invalidationStamp < self.invalidationStamp { return false }
    // Nothing that was begun before a reset arrives behind it.
    if let leader, leader.generation != self.generation { return false }
    former?.memberCount -= 1
    self.leader.object = nil
    (self.isBrought, self.endsBefore, self.endNumber, self.taken) = (false, 0, nil, nil)
    guard let leader else { return true }
    // All that have shared it may have ended without its result, as by a time limit: then it is still to come.
    if leader.memberCount == 0, let taken = leader.taken, let endNumber = leader.endNumber,
      taken.endNumber == endNumber
    {
      self.isBrought = leader.hadNotes
      (self.endsBefore, self.endNumber, self.taken) = (leader.endsBefore, endNumber, taken)
    } else {
      self.leader.object = leader
      leader.memberCount += 1
    }
    self.invalidationStamp = leader.invalidationStamp
    if let mark = leader.mark { self.mark = min(mark, self.mark ?? mark) }
    if let began = leader.beganAt { self.beganAt = min(began, self.beganAt ?? began) }
    return true
  }
}

/// What a fetch has to do with the pages of a list.
// @unchecked: guarded as the work is.
private final class PagingWork: @unchecked Sendable {
  var request: (any Sendable)?
  var wanted: (any Sendable)?
  var target: (any Sendable)?
  var hasYielded = false
}

/// The fetches that another one waits for: nearly always one at a time, for which no array is made.
///
/// They are not retained, since the callers that share a fetch would contend for its reference count: the task that
/// waits for a fetch retains it until it is removed here.
struct AwaitedWorks {
  private var first: Unmanaged<FetchWork>?
  private var others = [Unmanaged<FetchWork>]()

  var all: [FetchWork] {
    ((self.first.map { [$0] } ?? []) + self.others).map { $0.takeUnretainedValue() }
  }

  mutating func append(_ work: FetchWork) {
    let work = Unmanaged.passUnretained(work)
    if self.first == nil { self.first = work } else { self.others.append(work) }
  }

  /// - Returns: Whether it was there.
  mutating func remove(_ work: FetchWork) -> Bool {
    let place = Unmanaged.passUnretained(work).toOpaque()
    if self.first?.toOpaque() == place {
      self.first = nil
      return true
    }
    guard let index = self.others.lastIndex(where: { $0.toOpaque() == place }) else { return false }
    self.others.remove(at: index)
    return true
  }
}

extension FetchWork {
  /// Tells who watches the program by its probes that the request is being made.
  @usableFromInline final func probeBeginning() { probe_fetch_begin(Probes.number(of: self)) }

  /// Tells them that it has ended.
  @usableFromInline final func probeEnd(hasFailed: Bool) {
    probe_fetch_end(Probes.number(of: self), hasFailed ? 1 : 0)
  }
}

extension QueryContext {
  /// The work of the fetch that this context belongs to; `nil` outside a store's fetch.
  @inlinable
  var fetchWork: (any TaskRunOwner)? { self[RunningTaskKey.self]?.owner }
}
