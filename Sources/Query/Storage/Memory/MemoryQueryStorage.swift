import Dispatch
import FoundationEssentials

/// A storage that lasts as long as the process: the reference for other storages, and for tests.
///
/// ```swift
/// let storage = MemoryQueryStorage()
/// let first = QueryClient(storage: storage)   // "the first launch"
/// let second = QueryClient(storage: storage)  // "the next one": its stores are hydrated
/// ```
/// It codes values as a storage on disk does, so that a test finds a value that does not survive
/// coding. It limits only the size of a mutation's arguments, to 32 MiB, and evicts only ended
/// mutations.
///
/// Locking: `guarded` has its own lock, under which no coder runs.
public final class MemoryQueryStorage: QueryStorage {
  private struct Guarded {
    var entries = [QueryIdentity: StoredEntry]()
    var quarantine = [QueryIdentity: StoredEntry]()
    var statistics = StorageStatistics()
    /// Incremented by each erasure: a value coded before it is not stored after it.
    var epoch = 0
    /// How many contents were stored: each has a number of its own.
    var contentCount: UInt64 = 0
    /// How many erasures are under way.
    var erasures = 0
    var isClosed = false

    /// Whether a value lacks an edit that was acknowledged with a sequence.
    func lacksEdit(of sequence: Int64, in paths: EditedPaths) -> Bool {
      self.entries.contains { identity, entry in
        guard let mark = entry.outboxSequence, mark < sequence else { return false }
        return paths.covers(identity)
      }
    }
  }

  public let slots = StorageSlots()

  /// Values with more coded bytes than this are decoded off the thread that creates the store.
  public let synchronousHydrationLimit: Int

  public let outbox: any MutationOutbox

  public var packs: any PackStorage { self.kept }

  private let kept: MemoryPacks
  private let guarded: Locked<Guarded>
  private let queue = DispatchQueue(label: "query.memory-storage")
  private let hub = StorageEventHub()
  private let mutations: MemoryMutationOutbox

  /// Creates an empty storage.
  ///
  /// - Parameters:
  ///   - synchronousHydrationLimit: Values with more coded bytes than this are decoded off the thread
  ///     that creates the store; 64 KiB by default.
  ///   - historyLimits: How many ended mutations are kept.
  ///   - clock: What the waits of mutations go by in a test; nil: the clocks of the system.
  public convenience init(
    synchronousHydrationLimit: Int = 64 << 10,
    historyLimits: MutationHistoryLimits = MutationHistoryLimits(),
    clock: MockQueryClock? = nil
  ) {
    self.init(
      synchronousHydrationLimit: synchronousHydrationLimit, historyLimits: historyLimits,
      outboxClock: clock.map { OutboxClock($0) } ?? .system)
  }

  /// Creates an empty storage whose outbox takes its time from a test.
  package init(
    synchronousHydrationLimit: Int = 64 << 10,
    historyLimits: MutationHistoryLimits = MutationHistoryLimits(),
    maximumArgumentBytes: Int = 32 << 20,
    outboxClock: OutboxClock
  ) {
    self.synchronousHydrationLimit = synchronousHydrationLimit
    let guarded = Locked(Guarded())
    self.guarded = guarded
    self.kept = MemoryPacks { identities in
      guarded.withLock { storage in
        var sizes = [QueryIdentity: Int]()
        for identity in identities {
          guard let entry = storage.entries[identity], entry.content != .none else { continue }
          sizes[identity] = identity.text.utf8.count + entry.contentSize
        }
        return sizes
      }
    }
    let slots = self.slots
    let owner = Locked(Owner())
    self.mutations = MemoryMutationOutbox(
      limits: historyLimits, maximumArgumentBytes: maximumArgumentBytes, clock: outboxClock,
      values: .init(
        isMissing: { paths, sequence in
          guarded.withLock { $0.lacksEdit(of: sequence, in: paths) }
        },
        invalidate: { paths in owner.withLock { $0.storage }?.invalidate(paths) },
        forget: { edits in owner.withLock { $0.storage }?.forget(edits) },
        show: { change in slots.show(change) }))
    self.outbox = self.mutations
    owner.withLock { $0.storage = self }
  }

  /// The storage that an outbox belongs to.
  private struct Owner {
    weak var storage: MemoryQueryStorage?
  }

  public var events: StorageEvents { self.hub.makeEvents() }

  public var statistics: StorageStatistics {
    self.guarded.withLock { storage in
      var statistics = storage.statistics
      statistics.entries = storage.entries.count
      statistics.bytes = storage.entries.reduce(0) {
        $0 + $1.key.text.utf8.count + $1.value.contentSize
      }
      return statistics
    }
  }

  /// The stored entry of a query, for a test to read or to damage.
  ///
  /// - Parameter identity: The key that the query is stored under.
  public subscript(identity: QueryIdentity) -> StoredEntry? {
    get { self.guarded.withLock { $0.entries[identity] } }
    set { self.guarded.withLock { $0.entries[identity] = newValue } }
  }

  /// The entries that could not be read, and were taken out.
  ///
  /// - Parameter identity: The key that the query was stored under.
  public func quarantined(_ identity: QueryIdentity) -> StoredEntry? {
    self.guarded.withLock { $0.quarantine[identity] }
  }
}

// MARK: - Reading

extension MemoryQueryStorage {
  public func read(_ slot: StorageSlot) -> StorageReading {
    let entry = self.guarded.withLock { storage in
      // What is about to be removed: a store that is made now is not among those that are reset.
      storage.erasures > 0 ? nil : storage.entries[slot.identity]
    }
    return entry.map { .entry($0) } ?? .miss(.absent)
  }

  public func readLater(_ slot: StorageSlot) async -> StorageReading { self.read(slot) }

  public func didHydrate(_ slot: StorageSlot, from entry: StoredEntry?, _ miss: StorageMiss?) {
    let identity = slot.identity
    let isQuarantined = self.guarded.withLock { storage in
      guard let miss else {
        storage.statistics.hits += 1
        return false
      }
      storage.statistics.misses += 1
      guard miss.isQuarantined, let entry, let found = storage.entries[identity]
      else { return false }
      // Another one may have been written since it was read.
      guard found.hasSameValue(as: entry) else { return false }
      storage.statistics.quarantined += 1
      storage.quarantine[identity] = storage.entries.removeValue(forKey: identity)
      return true
    }
    guard let miss else { return }
    self.hub.send(.missed(identity, miss))
    if isQuarantined { self.hub.send(.quarantined(identity, miss)) }
  }

  public func prefetch(matching path: QueryPath) async throws { try self.requireOpen("prefetch") }
}

// MARK: - Writing

extension MemoryQueryStorage {
  public func write(_ slot: StorageSlot) {
    self.queue.async { self.carryOut(slot) }
  }

  private func carryOut(_ slot: StorageSlot) {
    let epoch = self.guarded.withLock { $0.epoch }
    guard let change = slot.takeChange() else { return }
    defer { slot.didWrite() }
    if case .write(let write) = change, let confirmation = write.confirmation,
      self.keepsNewer(than: confirmation.entry.version, at: slot)
        || self.confirm(slot.identity, confirmation, epoch)
    {
      return
    }
    var coded: StoredEntry?
    if case .write(let write) = change {
      do {
        coded = try write.entry()
      } catch {
        QueryWarning.valueNotEncoded(identity: slot.identity, error: error).report()
        return
      }
    }
    let entry = coded
    if self.keepsNewer(than: entry?.version ?? slot.removedVersion, at: slot) { return }
    let basis: StoredBasis? = if case .write(let write) = change { write.basis } else { nil }
    let mark = self.guarded.withLock { storage -> StoredContentMark?? in
      guard storage.epoch == epoch, !storage.isClosed else { return nil }
      let stored = storage.entries[slot.identity]
      var replacing: StoredEntry?
      if let entry {
        if basis?.isReplaceable(stored) ?? true {
          replacing = entry.replacing(stored, isOfStored: basis != nil)
        }
        if replacing == nil {
          storage.entries[slot.identity]?.history.note(entry.history.lastInvalidation)
          return nil
        }
      }
      storage.contentCount += 1
      let mark = entry.map { entry in
        StoredContentMark(
          hash: withUnsafeBytes(of: storage.contentCount) { Data($0) },
          byteCount: entry.contentSize)
      }
      storage.entries[slot.identity] = replacing
      storage.entries[slot.identity]?.contentMark = mark
      storage.statistics.writes += 1
      storage.statistics.commits += 1
      return .some(mark)
    }
    guard let mark else { return }
    if entry == nil { self.kept.lose(slot.identity) }
    if let mark, case .write(let write) = change { write.didStore(mark) }
    self.hub.send(.committed(entries: 1))
  }

  /// Whether a newer release has written what is stored, which stays.
  private func keepsNewer(than version: Int, at slot: StorageSlot) -> Bool {
    let stored = self.guarded.withLock { $0.entries[slot.identity]?.version }
    guard let stored, stored > version else { return false }
    slot.stopWriting(beside: stored)
    return true
  }

  /// Writes what is beside a value, if that suffices.
  private func confirm(
    _ identity: QueryIdentity, _ confirmation: StoredConfirmation, _ epoch: Int
  ) -> Bool {
    let result = self.guarded.withLock { storage -> (isDone: Bool, isChanged: Bool) in
      guard storage.epoch == epoch, !storage.isClosed else { return (false, false) }
      let stored = storage.entries[identity]
      guard let entry = confirmation.applied(to: stored) else {
        return (confirmation.isIgnored(beside: stored), false)
      }
      // The time of an invalidation is not compared.
      storage.entries[identity] = entry
      if let stored, entry == stored { return (true, false) }
      storage.statistics.writes += 1
      storage.statistics.commits += 1
      return (true, true)
    }
    if result.isChanged { self.hub.send(.committed(entries: 1)) }
    return result.isDone
  }

  public func invalidate(matching path: QueryPath) {
    guard let prefix = try? IdentityPrefix(path: path) else { return }
    self.invalidate(under: prefix)
  }

  private func invalidate(under prefix: IdentityPrefix) {
    // A change being written now is written again after the marks set here.
    for slot in self.slots.invalidateChanges(under: prefix) { self.write(slot) }
    let invalidation = LastInvalidation(at: .now)
    self.guarded.withLock { storage in
      for identity in storage.entries.keys where prefix.matches(identity) {
        storage.entries[identity]?.history.note(invalidation)
      }
    }
  }

  private func invalidate(_ paths: EditedPaths) {
    for prefix in paths.prefixes { self.invalidate(under: prefix) }
  }

  /// Invalidates the values that lack forgotten edits. Those that wait to be written now are stored before that.
  private func forget(_ edits: [EditedPaths: Int64]) {
    self.queue.async { [weak self] in
      guard let self else { return }
      for (paths, sequence) in edits
      where self.guarded.withLock({ $0.lacksEdit(of: sequence, in: paths) }) {
        self.invalidate(paths)
      }
    }
  }

  public func flush() async throws {
    try self.requireOpen("flush")
    await self.drain()
  }

  public func close() async throws {
    await self.drain()
    self.guarded.withLock { $0.isClosed = true }
    self.kept.close()
    self.mutations.close()
  }

  public func erase() async throws {
    try self.requireOpen("erase")
    self.guarded.withLock { $0.erasures += 1 }
    let slots = self.slots.closeAll()
    self.guarded.withLock { storage in
      storage.epoch += 1
      storage.entries = [:]
      storage.quarantine = [:]
      storage.erasures -= 1
    }
    self.kept.erase()
    try self.mutations.erase()
    self.slots.resetStores(of: slots)
  }

  private func drain() async {
    await withCheckedContinuation { continuation in self.queue.async { continuation.resume() } }
  }

  private func requireOpen(_ operation: String) throws(StorageError) {
    guard self.guarded.withLock({ $0.isClosed }) else { return }
    throw StorageError(
      operation: operation, code: .misuse, message: "the storage is closed")
  }
}

extension StoredEntry {
  /// Whether both are read alike.
  fileprivate func hasSameValue(as other: StoredEntry) -> Bool {
    self.kind == other.kind && self.coder == other.coder && self.version == other.version
      && self.content == other.content
  }
}
