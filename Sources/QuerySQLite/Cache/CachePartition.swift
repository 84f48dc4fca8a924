import FoundationEssentials
import Query

/// What a process knows of one account in `cache.sqlite`, shared by all its storages of that
/// account.
///
/// Locking: `guarded` has its own lock, under which nothing is called. It is shared by the threads
/// that create stores and the thread that writes.
final class CachePartition: Sendable {
  /// The name of the account.
  let name: String

  /// The queries that are alive or have a pending change.
  let slots = StorageSlots()

  /// The listeners.
  let hub = StorageEventHub()

  /// The limits of the first storage.
  let limits: CacheLimits

  /// Those who are told of changes of packs.
  let packListeners = RecipientList<Void>()

  private let guarded = Locked(Guarded())

  fileprivate struct Guarded {
    /// The partition in the open file; nil while there is none.
    var row: PartitionRow?
    var statistics = StorageStatistics()
    /// The uses since they were last recorded, in order.
    var uses = [QueryIdentity]()
    /// Earlier uses that were taken and are not recorded yet, each entry once.
    var unrecordedUses = [QueryIdentity]()[...]
    var prefetched = [QueryIdentity: StoredEntry]()
    var prefetchedBytes = 0
    /// How many scans are running, and what has changed since the first of them began: their
    /// entries may be older.
    var scans = 0
    var changedSince = Set<QueryIdentity>()
    var hasAllChangedSince = false
    /// How many erasures are under way.
    var erasures = 0
    /// Those who read when none is.
    var untilErased = [CheckedContinuation<Void, Never>]()
    /// What happened while the file was opened, before there could be listeners.
    var unheard: StorageEvent?
  }

  init(name: String, limits: CacheLimits) {
    self.name = name
    self.limits = limits
  }
}

// MARK: - Events

extension CachePartition {
  /// Reports an event that must not be missed: if there is no listener, the first one gets it.
  func tell(_ event: StorageEvent) {
    if self.hub.hasListeners {
      self.hub.send(event)
    } else {
      self.guarded.withLock { $0.unheard = event }
    }
  }

  /// The event that no listener has had.
  func takeUnheard() -> StorageEvent? {
    self.guarded.withLock { partition in
      defer { partition.unheard = nil }
      return partition.unheard
    }
  }
}

// MARK: - Packs

extension CachePartition {
  /// How much its packs may have.
  var packLimits: PackLimits {
    PackLimits(ofStorageWith: self.limits.bytes, entries: self.limits.entries)
  }

  /// Tells that packs may have changed.
  func tellOfPacks() {
    self.packListeners.post([()])
    self.packListeners.deliver()
  }
}

// MARK: - The row

extension CachePartition {
  /// The partition's row as this process last saw it; nil while no file is open.
  var row: PartitionRow? {
    get { self.guarded.withLock { $0.row } }
    set {
      self.guarded.withLock { partition in
        partition.row = newValue
        if let newValue { partition.count(newValue.totals) }
      }
    }
  }

  /// Records the totals of a transaction of this process.
  func didCommit(_ totals: CacheChanges.Totals) {
    self.guarded.withLock { partition in
      partition.row?.totals = totals
      partition.count(totals)
    }
  }

  /// What is known about an identity without waiting.
  func glance(at identity: QueryIdentity) -> (id: Int64?, prefetched: StoredEntry?) {
    self.guarded.withLock { partition in
      if partition.erasures > 0 { return (nil, nil) }
      let entry =
        partition.prefetched.isEmpty ? nil : partition.removePrefetched(identity)
      return (partition.row?.id, entry)
    }
  }
}

// MARK: - Erasing

extension CachePartition {
  /// Whether everything is being removed, so that nothing can be read now.
  var isErasing: Bool { self.guarded.withLock { $0.erasures > 0 } }

  /// How many wait for ``untilErased()``.
  var waitingReaders: Int { self.guarded.withLock { $0.untilErased.count } }

  /// Lets nobody read until ``endErasing()``.
  func beginErasing() { self.guarded.withLock { $0.erasures += 1 } }

  func endErasing() {
    let waiting = self.guarded.withLock { partition in
      partition.erasures -= 1
      if partition.erasures > 0 { return [CheckedContinuation<Void, Never>]() }
      defer { partition.untilErased = [] }
      return partition.untilErased
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until nothing is being removed.
  func untilErased() async {
    await withCheckedContinuation { continuation in
      let isWaiting = self.guarded.withLock { partition in
        if partition.erasures > 0 { partition.untilErased.append(continuation) }
        return partition.erasures > 0
      }
      if !isWaiting { continuation.resume() }
    }
  }
}

// MARK: - Counting

extension CachePartition {
  var statistics: StorageStatistics { self.guarded.withLock { $0.statistics } }

  func count(_ edit: (inout StorageStatistics) -> Void) {
    self.guarded.withLock { edit(&$0.statistics) }
  }

  /// Counts a hydrated store, and records the use.
  func countHit(_ identity: QueryIdentity) {
    self.guarded.withLock { partition in
      partition.statistics.hits += 1
      // The next write could not tell more of them apart anyway.
      if partition.uses.count < 200_000 { partition.uses.append(identity) }
    }
  }

  /// What was put back, or if that is nothing, the uses since the last call: each entry once, the latest use
  /// last.
  func takeUses() -> ArraySlice<QueryIdentity> {
    let (unrecorded, uses) = self.guarded.withLock { partition in
      let unrecorded = partition.unrecordedUses
      partition.unrecordedUses = []
      if !unrecorded.isEmpty { return (unrecorded, [QueryIdentity]()) }
      defer { partition.uses = [] }
      return (unrecorded, partition.uses)
    }
    if uses.isEmpty { return unrecorded }
    var seen = Set<QueryIdentity>(minimumCapacity: uses.count)
    return uses.reversed().filter { seen.insert($0).inserted }.reversed()[...]
  }

  /// Keeps uses that were taken for the next call. They are not compared again with those that come
  /// meanwhile: of very many uses, each call records a few.
  func putBack(uses: ArraySlice<QueryIdentity>) {
    self.guarded.withLock { $0.unrecordedUses = uses }
  }

  func dropUses() {
    self.guarded.withLock { partition in
      partition.uses = []
      partition.unrecordedUses = []
    }
  }

  var hasUses: Bool {
    self.guarded.withLock { !$0.uses.isEmpty || !$0.unrecordedUses.isEmpty }
  }
}

// MARK: - Prefetching

extension CachePartition {
  /// How many bytes of values are kept in memory until their stores are created.
  static let maximumPrefetchedBytes = 64 << 20

  /// Announces that a scan begins, or what it waits for, whose entries ``keep(prefetched:)`` gets.
  func beginPrefetching() { self.guarded.withLock { $0.scans += 1 } }

  func endPrefetching() {
    self.guarded.withLock { partition in
      partition.scans -= 1
      if partition.scans > 0 { return }
      partition.changedSince = []
      partition.hasAllChangedSince = false
    }
  }

  /// Keeps entries that were read, except those that have changed meanwhile, and as many as fit.
  func keep(prefetched entries: [(QueryIdentity, StoredEntry)]) {
    self.guarded.withLock { partition in
      if partition.erasures > 0 || partition.hasAllChangedSince { return }
      for (identity, entry) in entries where !partition.changedSince.contains(identity) {
        _ = partition.removePrefetched(identity)
        let bytes = partition.prefetchedBytes + entry.contentSize
        if bytes > Self.maximumPrefetchedBytes { continue }
        partition.prefetched[identity] = entry
        partition.prefetchedBytes = bytes
      }
    }
  }

  /// Drops a prefetched entry that is written now.
  func forgetPrefetched(_ identity: QueryIdentity) {
    self.guarded.withLock { partition in
      if partition.scans > 0 { partition.changedSince.insert(identity) }
      if !partition.prefetched.isEmpty { _ = partition.removePrefetched(identity) }
    }
  }

  func forgetPrefetched() {
    self.guarded.withLock { partition in
      partition.hasAllChangedSince = partition.scans > 0
      (partition.prefetched, partition.prefetchedBytes) = ([:], 0)
    }
  }
}

extension CachePartition.Guarded {
  fileprivate mutating func count(_ totals: CacheChanges.Totals) {
    self.statistics.entries = totals.entries
    self.statistics.bytes = totals.bytes
  }

  fileprivate mutating func removePrefetched(_ identity: QueryIdentity) -> StoredEntry? {
    let entry = self.prefetched.removeValue(forKey: identity)
    self.prefetchedBytes -= entry?.contentSize ?? 0
    return entry
  }
}
