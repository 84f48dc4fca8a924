import FoundationEssentials

/// The place of one query in a storage: its identity, the stores that live at it, and the change that
/// waits to be written.
///
/// A storage gets slots from its ``StorageSlots``, and through ``QueryStorage/write(_:)``. Of the
/// changes of a slot only the newest waits, however many there are.
public final class StorageSlot: Sendable {
  /// What the query is stored under.
  public let identity: QueryIdentity

  private struct Guarded {
    /// The stores that live here, and some that are gone.
    var stores: [WeakStore]
    /// The newest change that no storage has taken.
    var change: StorageChange?
    /// What a storage is writing.
    var taken: StorageChange?
    /// How many bytes the last value had that was coded here; nil: none was.
    var codedBytes: Int?
    /// The version of the store that made the newest removal.
    var removedVersion = Int.max
    var isClosed = false
    /// Incremented by each change of a store.
    var changeCount = 0
    /// The newest entry of another process.
    var arrival: Arrival?
    /// Whether a task gives arrivals to the stores.
    var isTakingOver = false
  }

  /// An object, since an entry's layout is known at run time alone, and so would be that of what has one.
  private final class Arrival: Sendable {
    let entry: StoredEntry
    /// The count of changes at which it came.
    let changeCount: Int

    init(_ entry: StoredEntry, _ changeCount: Int) {
      self.entry = entry
      self.changeCount = changeCount
    }
  }

  // No user code runs under this lock.
  private let guarded: Locked<Guarded>
  private weak let table: StorageSlots?

  init(identity: QueryIdentity, table: StorageSlots, store: any StoredStore) {
    self.identity = identity
    self.guarded = Locked(Guarded(stores: [WeakStore(store: store)]))
    self.table = table
  }

  deinit { self.table?.didRelease(self.identity) }
}

// MARK: - What a storage does with it

extension StorageSlot {
  /// Takes the waiting change, to write it. ``didWrite()`` or ``putBack()`` follows.
  ///
  /// - Returns: The change, or nil if there is none any more.
  public func takeChange() -> StorageChange? {
    self.guarded.withLock { slot in
      slot.taken = slot.change
      slot.change = nil
      return slot.taken
    }
  }

  /// Reports that the change that was taken is written, or given up.
  public func didWrite() {
    let old = self.guarded.withLock { slot in
      defer { slot.taken = nil }
      if case .write(let write)? = slot.taken, let bytes = write.codedBytes {
        slot.codedBytes = bytes
      }
      return slot.taken
    }
    withExtendedLifetime(old) {}
  }

  /// Reports that the change that was taken could not be written.
  ///
  /// - Returns: Whether it waits again, so that the storage has to come back. False if a newer
  ///   change has come, which was announced separately.
  public func putBack() -> Bool {
    let (isWaiting, old) = self.guarded.withLock { slot in
      let taken = slot.taken
      slot.taken = nil
      guard !slot.isClosed, let taken else { return (false, taken) }
      guard let newer = slot.change else {
        slot.change = taken
        return (true, nil)
      }
      // An error that came meanwhile does not have the value.
      if case .write(let write) = newer { slot.change = write.replacing(taken) }
      return (false, taken)
    }
    withExtendedLifetime(old) {}
    return isWaiting
  }

  /// Drops the waiting change: it is never written.
  package func dropChange() {
    let old = self.guarded.withLock { slot in
      defer { slot.change = nil }
      return slot.change
    }
    withExtendedLifetime(old) {}
  }

  /// Drops the waiting change if it writes something: it is never written.
  ///
  /// - Returns: The write; nil if there is none any more.
  package func dropWrite() -> StorageWrite? {
    self.guarded.withLock { slot in
      guard case .write(let write)? = slot.change else { return nil }
      slot.change = nil
      return write
    }
  }

  /// The newest version of the value that a removal removes: a newer release's stays.
  package var removedVersion: Int { self.guarded.withLock { $0.removedVersion } }

  /// How many bytes the value of the change that waits has, coded.
  public var waitingBytes: Int {
    guard let write = self.waitingWrite else { return 0 }
    // Nothing is coded for its size.
    if write.confirmation != nil { return 0 }
    let bytes = (try? write.entry().contentSize) ?? 0
    self.guarded.withLock { $0.codedBytes = bytes }
    return bytes
  }

  /// About how many bytes the value of the change that waits has, coded: as many as the last one of this query
  /// that was coded, so that one that changes again and again is not coded each time for its size.
  package var likelyWaitingBytes: Int {
    let (change, known) = self.guarded.withLock { ($0.change, $0.codedBytes) }
    guard case .write(let write)? = change else { return 0 }
    guard let known else { return self.waitingBytes }
    return write.confirmation == nil ? known : 0
  }

  /// The change that waits, if it writes something.
  package var waitingWrite: StorageWrite? {
    if case .write(let write)? = self.guarded.withLock({ $0.change }) { write } else { nil }
  }

  /// Whether a store lives here.
  public var isAlive: Bool { !self.livingStores.isEmpty }

  /// Passes an entry that another process has written to the stores that live here, unless they
  /// have a change of their own that is not written yet, or make one before that.
  ///
  /// Returns at once: the stores take it in a task, so that neither their coders nor their handlers keep
  /// the thread that writes the storage. Of several entries they may get only the last.
  ///
  /// - Parameter entry: The entry.
  public func takeOver(_ entry: StoredEntry) {
    let isFirst = self.guarded.withLock { slot in
      guard slot.change == nil, slot.taken == nil else { return false }
      slot.arrival = Arrival(entry, slot.changeCount)
      defer { slot.isTakingOver = true }
      return !slot.isTakingOver
    }
    guard isFirst else { return }
    Task.detached {
      while let arrival = self.nextArrival() {
        for store in self.livingStores {
          store.takeOver(arrival.entry, ifChangesAre: arrival.changeCount)
        }
      }
    }
  }

  private func nextArrival() -> Arrival? {
    self.guarded.withLock { slot in
      defer { slot.arrival = nil }
      if slot.arrival == nil { slot.isTakingOver = false }
      return slot.arrival
    }
  }

  /// Lets the living stores hand over their value again, because what was stored of it is gone. It is
  /// written if nothing is stored then. Not called by a thread that stores may wait for.
  package func handOverAgain() {
    for store in self.livingStores { store.handOverAgain() }
  }

  /// Lets the stores that live here write nothing any more if a newer release has written what is stored.
  ///
  /// Returns at once: the thread that writes the storage waits for no store.
  ///
  /// - Parameter version: The version of the stored value.
  package func stopWriting(beside version: Int) {
    Task.detached { for store in self.livingStores { store.stopWriting(beside: version) } }
  }

  // Returned outside the lock: the caller may hold the last reference to a store.
  var livingStores: [any StoredStore] {
    self.guarded.withLock { $0.stores.compactMap(\.store) }
  }
}

// MARK: - What a store does with it

/// A store as its slot knows it.
protocol StoredStore: AnyObject, Sendable {
  var path: QueryPath { get }
  func takeOver(_ entry: StoredEntry, ifChangesAre changeCount: Int)
  func handOverAgain()
  func stopWriting(beside version: Int)
  /// Goes back to a fresh state, which is not written.
  ///
  /// - Returns: What ends the tasks that are cancelled with it: see ``TaskRun/takeCancellation()``.
  func takeResetAfterErasing() -> [@Sendable () -> Void]
}

private struct WeakStore: Sendable {
  weak let store: (any StoredStore)?
}

extension StorageSlot {
  /// The path of the store that lives here.
  var path: QueryPath? { self.livingStores.first?.path }

  /// Whether nothing is written here any more.
  var isClosed: Bool { self.guarded.withLock { $0.isClosed } }

  func add(_ store: any StoredStore) {
    let living = self.guarded.withLock { slot in
      let living = slot.stores.compactMap(\.store)
      slot.stores = living.map { WeakStore(store: $0) } + [WeakStore(store: store)]
      return living
    }
    withExtendedLifetime(living) {}
  }

  /// Lets a change wait, in the place of an older one.
  ///
  /// - Parameters:
  ///   - change: The change.
  ///   - version: The version of the store that makes it.
  /// - Returns: Whether the storage must be notified; whether nothing is written here any more; and what to
  ///   release outside the lock.
  func replaceChange(
    _ change: StorageChange, ofVersion version: Int = .max
  ) -> (isFirst: Bool, isClosed: Bool, old: StorageChange?) {
    self.guarded.withLock { slot in
      if slot.isClosed { return (false, true, nil) }
      slot.changeCount += 1
      if case .remove = change { slot.removedVersion = version }
      guard let old = slot.change else {
        slot.change = change
        return (true, false, nil)
      }
      switch (change, old) {
      case (.write(let write), _): slot.change = write.replacing(old)
      case (.remove, .write(let write)):
        write.didRemove()
        slot.change = change
      case (.remove, .remove): break
      }
      return (false, false, old)
    }
  }

  /// Makes each change that is not on disk yet the write of an invalidated value. A change being
  /// written now is written once more.
  ///
  /// - Returns: Whether the storage must be notified.
  func invalidateChange() -> Bool {
    self.guarded.withLock { slot in
      if slot.isClosed { return false }
      // The old change is not released here: the new one holds it.
      if case .write(let write)? = slot.change {
        slot.change = .write(write.invalidated())
      } else if slot.change == nil, case .write(let write)? = slot.taken {
        // Not the value once more: another process may have stored a newer one in between.
        slot.change = .write(write.followedByInvalidation())
        return true
      }
      return false
    }
  }

  /// What is not on disk yet: the newest change, in the place of what is being written.
  var unwrittenChange: StorageChange? {
    self.guarded.withLock { slot in
      guard case .write(let write)? = slot.change, let taken = slot.taken else {
        return slot.change ?? slot.taken
      }
      return write.replacing(taken)
    }
  }

  /// Whether the stores have made no change since there were so many.
  func hasNoChange(since changeCount: Int) -> Bool {
    self.guarded.withLock { $0.changeCount == changeCount && !$0.isClosed }
  }

  /// Drops what waits, and lets nothing wait any more.
  func close() {
    let old = self.guarded.withLock { slot in
      defer { slot.change = nil }
      slot.isClosed = true
      return slot.change
    }
    withExtendedLifetime(old) {}
  }
}
