/// The queries that a storage currently serves: those whose stores live, and those with a change
/// that is not written yet.
///
/// Each storage, or all storages of one account in one file, has one.
public final class StorageSlots: Sendable {
  fileprivate struct WeakSlot: Sendable {
    /// That of the slot, which is not kept for a look at it.
    let identity: QueryIdentity
    weak let slot: StorageSlot?
    /// Those of other identities whose texts are equal, and not their bytes, as of a letter that is composed
    /// or decomposed.
    var others = [WeakSlot]()

    init(_ slot: StorageSlot) { (self.identity, self.slot) = (slot.identity, slot) }
  }

  /// By the texts of their identities: a dictionary of another type of key costs a launch 50 µs.
  private let table = Locked([String: WeakSlot]())

  private struct WeakFollower: Sendable {
    weak let follower: (any MutationFollower)?
  }

  /// The clients that show mutations of the storage.
  private let followers = Locked([WeakFollower]())

  /// Creates an empty table.
  public init() {}

  func add(_ follower: any MutationFollower) {
    // Released after the lock: each may be the last reference.
    let living = self.followers.withLock { followers in
      let living = followers.compactMap(\.follower)
      followers = (living + [follower]).map { WeakFollower(follower: $0) }
      return living
    }
    withExtendedLifetime(living) {}
  }

  /// Lets the clients show what a call has made of a mutation. Called off every lock, before the call
  /// returns.
  package func show(_ change: MutationChange) {
    let followers = self.followers.withLock { $0.compactMap(\.follower) }
    for follower in followers { follower.didChange(change) }
  }

  /// The slot of an identity, if there is one.
  ///
  /// - Parameter identity: The key that the query is stored under.
  public func existingSlot(for identity: QueryIdentity) -> StorageSlot? {
    self.table.withLock { $0[identity.text]?.slot(of: identity) }
  }

  /// All slots at this moment.
  ///
  /// - Complexity: O(*n*).
  public var all: [StorageSlot] {
    self.table.withLock { Self.slots(in: $0) }
  }

  /// Drops all waiting changes, and stops the stores that live now from writing. Stores made later
  /// are not affected.
  ///
  /// - Returns: The slots that were closed, for ``resetStores(of:)``.
  public func closeAll() -> [StorageSlot] {
    let slots = self.table.withLock { table in
      defer { table = [:] }
      return Self.slots(in: table)
    }
    for slot in slots { slot.close() }
    return slots
  }

  private static func slots(in table: [String: WeakSlot]) -> [StorageSlot] {
    var slots = [StorageSlot]()
    slots.reserveCapacity(table.count)
    for found in table.values {
      if let slot = found.slot { slots.append(slot) }
      for other in found.others { if let slot = other.slot { slots.append(slot) } }
    }
    return slots
  }

  /// Resets the stores that live at closed slots.
  ///
  /// - Parameter slots: The slots.
  public func resetStores(of slots: [StorageSlot]) {
    // All of them before any fetch ends: one may wait for that of another store.
    let ends = slots.flatMap { $0.livingStores.flatMap { $0.takeResetAfterErasing() } }
    for end in ends { end() }
  }

  /// Lets the living stores hand over their values again, because the file that had them is gone.
  package func handOverAgain() {
    for slot in self.all { slot.handOverAgain() }
  }

  /// Marks the unwritten changes of queries under a path as changes of invalidated values. A
  /// storage does this first when a caller invalidates: then it marks what is on disk, and what its
  /// stores write from then on is about later values.
  ///
  /// - Parameter prefix: The beginning of the paths.
  /// - Returns: The slots for which to call ``QueryStorage/write(_:)``.
  package func invalidateChanges(under prefix: IdentityPrefix) -> [StorageSlot] {
    self.all.filter { prefix.matches($0.identity) && $0.invalidateChange() }
  }

  /// The slot of an identity, for a store that lives there from now on.
  ///
  /// - Returns: nil if a store of an unequal path lives there, which is reported as a warning.
  func attach(_ store: some StoredStore, to identity: QueryIdentity) -> StorageSlot? {
    let new = StorageSlot(identity: identity, table: self, store: store)
    let existing = self.table.withLock { table -> StorageSlot? in
      // As a rule there is none, and the text is looked for once.
      guard let found = table.updateValue(WeakSlot(new), forKey: identity.text) else { return nil }
      let slot = found.slot(of: identity)
      if slot != nil {
        table[identity.text] = found
      } else if let others = found.without(identity) {
        table[identity.text]?.others = others.list
      }
      return slot
    }
    guard let existing else { return new }
    // Compared outside the lock: that is user code.
    if let path = existing.path, path != store.path {
      QueryWarning.sameIdentity(identity: identity, paths: (path, store.path)).report()
      return nil
    }
    existing.add(store)
    return existing
  }

  /// Called when a slot is gone. Another one may have its place already.
  func didRelease(_ identity: QueryIdentity) {
    // Returned outside the lock: this may be the last reference to it.
    let successor = self.table.withLock { table -> StorageSlot? in
      guard let found = table[identity.text] else { return nil }
      let successor = found.slot(of: identity)
      if successor == nil { table[identity.text] = found.without(identity) }
      return successor
    }
    withExtendedLifetime(successor) {}
  }
}

extension StorageSlots.WeakSlot {
  /// The slot of an identity.
  fileprivate func slot(of identity: QueryIdentity) -> StorageSlot? {
    if self.identity == identity { return self.slot }
    return self.others.first { $0.identity == identity }?.slot
  }

  /// This one and the others, each by itself.
  fileprivate var list: [Self] {
    var first = self
    first.others = []
    return [first] + self.others
  }

  /// The slots of the other identities; nil: there are none.
  fileprivate func without(_ identity: QueryIdentity) -> Self? {
    // As a rule there is one alone.
    if self.others.isEmpty { return self.identity == identity ? nil : self }
    let rest = self.list.filter { $0.identity != identity }
    guard var first = rest.first else { return nil }
    first.others = Array(rest.dropFirst())
    return first
  }
}
