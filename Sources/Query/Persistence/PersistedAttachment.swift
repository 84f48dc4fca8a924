import CProbes
import FoundationEssentials

/// Connects a store to the slot of its query in a storage.
final class PersistedAttachment<State: PersistableQueryState>: StoreAttachment<State>,
  // @unchecked: the variables are guarded by the store's lock.
  @unchecked Sendable
{
  let slot: StorageSlot
  let storage: any QueryStorage
  private let plan: PersistencePlan
  /// There while the value is still to come.
  @exclusivity(unchecked) private var gate: HydrationGate?

  /// Whether changes are written. False if a newer release has written the value, and after the
  /// storage was erased.
  @exclusivity(unchecked) private var isWriting = true
  /// Whether a warning has reported that nothing is written any more.
  @exclusivity(unchecked) private var isToldOf = false
  /// Whether the state that last changed has a value that was fetched or set.
  @exclusivity(unchecked) private var hasValue = false
  /// Whether the value is still the one that the store was created with.
  @exclusivity(unchecked) private var isPristine = true
  /// Whether the state holds all that is stored. Until then an error or an invalidation alone is not
  /// written, or it would take the place of a value.
  @exclusivity(unchecked) private var hasStored = false
  /// By what the storage knows the value of the state.
  @exclusivity(unchecked) private var content = StoredContent()
  /// The number of the value that this is; nil: of none.
  @exclusivity(unchecked) private var contentNumber: Int?
  /// What is written of the state's errors.
  @exclusivity(unchecked) private var failures = PersistedFailures()

  init(slot: StorageSlot, storage: any QueryStorage, plan: PersistencePlan) {
    self.slot = slot
    self.storage = storage
    self.plan = plan
    super.init()
    // What is read now has the invalidations so far.
    self.invalidationsKnownUntil = .now
  }

  override var isWritten: Bool { self.isWriting && !self.slot.isClosed }

  // MARK: - Writing

  override func change(
    _ cause: StateChangeCause, of state: inout State, _ tag: ValueTag
  ) -> StorageChange? {
    switch cause {
    case .changed: self.write(of: &state, tag, .changed)
    case .confirmed: self.write(of: &state, tag, State._isStoredAsConfirmed ? .confirmed : .changed)
    case .folded: self.write(of: &state, tag, .folded)
    case .lost: self.writeAgain(of: &state, tag)
    }
  }

  private func write(
    of state: inout State, _ tag: ValueTag, _ cause: StorageWrite.Cause
  ) -> StorageChange? {
    if !state.isInvalidated {
      self.lastInvalidation = self.lastInvalidation.answered
    } else if !self.lastInvalidation.isStanding {
      self.lastInvalidation = LastInvalidation(at: .now)
    }
    // Nothing of a cancellation is written.
    if self.failures.take(&state) { return nil }
    self.hasValue = state.valueUpdateCount > 0
    if self.hasValue { self.isPristine = false }
    // What its server forbids to store takes what is there along.
    if tag.record?.isStored == false {
      self.content = StoredContent()
      return self.isWriting ? .remove : nil
    }
    guard self.isWriting, self.hasStored || !self.isPristine else { return nil }
    // An error, an invalidation and an edit that is laid over leave the value as it is, and make none.
    var cause = cause
    let isUnchanged = self.contentNumber == tag.number || !self.hasValue
    if cause == .changed, State._isStoredAsConfirmed, isUnchanged { cause = .unchanged }
    let folded = cause == .folded ? self.content : nil
    if cause == .changed || cause == .folded { self.beginContent() }
    self.contentNumber = tag.number
    return .write(self.snapshot(of: &state, tag, cause, folded: folded))
  }

  private func writeAgain(of state: inout State, _ tag: ValueTag) -> StorageChange? {
    guard self.isWriting, !self.isHydrating, state.valueUpdateCount > 0,
      tag.record?.isStored != false
    else { return nil }
    return .write(self.snapshot(of: &state, tag, .handedOverAgain))
  }

  private func snapshot(
    of state: inout State, _ tag: ValueTag, _ cause: StorageWrite.Cause,
    folded: StoredContent? = nil
  ) -> StorageWrite {
    let notes = StateNotes(
      plan: self.plan, valueUpdateCount: state.valueUpdateCount,
      valueLastUpdatedAt: state.valueLastUpdatedAt, failures: self.failures, record: tag.record,
      mark: self.mark)
    let facts = WriteFacts(
      content: self.content, cause: cause, folded: folded,
      lastInvalidation: self.lastInvalidation,
      invalidationsKnownUntil: self.invalidationsKnownUntil, isFetched: self.isFetched)
    return state._write(_WriteParts(notes: notes, facts: facts))
  }

  override func handOver(_ change: StorageChange) {
    // Another process has erased it, or this one is just doing so.
    guard self.hand(over: change), !self.isToldOf, case .write(let write) = change,
      write.facts.cause != .handedOverAgain, self.hasValue
    else { return }
    self.isToldOf = true
    PersistenceWarnings.reportUnwritten(self.slot.identity)
  }

  /// The value is a new one, which no storage has.
  private func beginContent() {
    // As a rule the last one is written, and nobody else has its mark.
    if isKnownUniquelyReferenced(&self.content) {
      self.content.clear()
    } else {
      self.content = StoredContent()
    }
  }

  override var identity: QueryIdentity? { self.slot.identity }

  override var endedSequence: Int64? { self.storage.outbox.endedSequence }

  override var isHydrating: Bool { self.gate != nil }

  override var hasUnwrittenChange: Bool { self.slot.unwrittenChange != nil }

  override func stateDidReset() {
    self.isPristine = false
    self.failures = PersistedFailures()
    (self.content, self.contentNumber) = (StoredContent(), nil)
    (self.lastInvalidation, self.invalidationsKnownUntil) = (.none, nil)
    self.isFetched = true
    guard self.isWriting else { return }
    self.hand(over: .remove)
  }

  /// - Returns: Whether nothing is written at the slot any more.
  @discardableResult
  private func hand(over change: StorageChange) -> Bool {
    let (isFirst, isClosed, old) = self.slot.replaceChange(
      change, ofVersion: self.plan.options.version)
    if isFirst { self.storage.write(self.slot) }
    withExtendedLifetime(old) {}
    return isClosed
  }

  // MARK: - Hydrating

  /// Reads the stored value into a store that no other thread has seen yet; a slow read goes on
  /// later.
  func hydrate(_ store: QueryStore<State>) {
    probe_hydrate_begin(Probes.number(of: self.slot))
    switch self.slot.unwrittenChange {
    // Another process may have stored a newer value than the one that it was made beside.
    case .write(let write)? where write.isNote: self.read(into: store, beside: write)
    case .write(let write)?: self.take(write, into: store)
    case .remove?: self.miss(.absent, store)
    case nil: self.read(into: store)
    }
  }

  /// Shows a change that an earlier store of the same query left unwritten: as it is, if it is not
  /// coded yet, since coding and decoding a large value would take long.
  private func take(_ write: StorageWrite, into store: QueryStore<State>) {
    if let snapshot = write.snapshot as? PersistedSnapshot<State>,
      snapshot.isReadable(with: self.plan.options)
    {
      if self.isExpired(snapshot.valueLastUpdatedAt, in: store.context) {
        self.miss(.expired, store)
      } else {
        let extras = RestoredExtras(
          record: snapshot.record, content: write.facts.content ?? StoredContent())
        self.show(
          snapshot.value, extras, snapshot.history(write.facts), snapshot.mark, in: store)
        self.didHydrate(from: nil, nil, byteCount: 0)
      }
    } else if let entry = try? write.entry() {
      self.take(entry, into: store)
    } else {
      // It cannot be coded, and will never be written: the stored value stays.
      self.read(into: store)
    }
  }

  /// - Parameter note: An error or an invalidation that is not written yet.
  private func read(into store: QueryStore<State>, beside note: StorageWrite? = nil) {
    var reading = self.storage.read(self.slot)
    if note != nil { reading = self.noted(note, reading) }
    switch consume reading {
    case .entry(let entry): self.take(entry, into: store)
    case .miss(let miss): self.miss(miss, store)
    case .later: self.hydrateLater(store, reading: nil, beside: note)
    }
  }

  /// What will be stored once a note is written.
  private func noted(_ note: StorageWrite?, _ reading: StorageReading) -> StorageReading {
    guard let note, let confirmation = note.confirmation else { return reading }
    let stored: StoredEntry?
    switch reading {
    case .entry(let entry): stored = entry
    case .miss(.absent): stored = nil
    case .miss, .later: return reading
    }
    if let entry = confirmation.applied(to: stored) { return .entry(entry) }
    if confirmation.isIgnored(beside: stored) { return reading }
    // No storage has had the store's value, and there is no other: it is written with the note.
    return (try? note.entry())?.replacing(stored).map { .entry($0) } ?? reading
  }

  private func take(_ entry: StoredEntry, into store: QueryStore<State>) {
    if entry.contentSize > self.storage.synchronousHydrationLimit {
      self.hydrateLater(store, reading: .entry(entry))
    } else {
      self.restore(entry, into: store)
    }
  }

  private func hydrateLater(
    _ store: QueryStore<State>, reading: StorageReading?, beside note: StorageWrite? = nil
  ) {
    let gate = HydrationGate()
    self.gate = gate
    let (slot, storage) = (self.slot, self.storage)
    Task.detached { [weak store] in
      var found = reading
      if found == nil { found = self.noted(note, await storage.readLater(slot)) }
      if let store {
        switch found {
        case .entry(let entry)?:
          // The edits are laid over the value before anybody sees it.
          store.withLock { self.mark = entry.mark }
          store.layEdits()
          self.restore(entry, into: store)
        case .miss(let miss)?: self.miss(miss, store)
        case .later?, nil: break
        }
      }
      store?.withLock { self.gate = nil }
      store?.layEdits()
      gate.open()
    }
  }

  override func whenHydrated(_ action: @escaping @Sendable () -> Void) -> Bool {
    self.gate?.wait(action) ?? false
  }

  private func restore(_ entry: StoredEntry, into store: QueryStore<State>) {
    do {
      let value = try self.decode(entry, in: store.context)
      self.show(value, self.extras(of: value, in: entry), entry.history, entry.mark, in: store)
      self.didHydrate(from: entry, nil, byteCount: entry.contentSize)
    } catch {
      self.miss(error.miss, of: entry, store)
    }
  }

  private func show(
    _ value: State.PersistedValue?,
    _ extras: RestoredExtras,
    _ history: UpdateHistory,
    _ mark: ValueMark?,
    in store: QueryStore<State>
  ) {
    var error: (any Error)?
    let replaced = store.withLock {
      let replaced = Self.shown(by: &store._state, &error)
      // Never replaces a newer value, or one that was erased meanwhile.
      guard self.isPristine, !self.slot.isClosed else { return replaced }
      self.hasStored = true
      let later = self.failures
      store.setMark(mark)
      let isInvalidated = store.restoreUnderLaterChanges(value, extras.record, history)
      (self.content, self.contentNumber) = (extras.content, store.tag.number)
      self.failures = PersistedFailures(history)
      self.failures.append(later, in: &store._state)
      self.read(history.lastInvalidation, by: store)
      self.lastInvalidation = self.lastInvalidation.noted(beside: history.lastInvalidation)
      if isInvalidated || later.count > 0 {
        store.persist(.changed)
      }
      return replaced
    }
    withExtendedLifetime(replaced) {}
    withExtendedLifetime(error) {}
  }

  /// Learns the last invalidation of what is stored. The caller holds the store's lock.
  ///
  /// - Returns: Whether the store did not know of it.
  @discardableResult
  private func read(_ stored: LastInvalidation, by store: QueryStore<State>) -> Bool {
    self.invalidationsKnownUntil = stored.knownUntil(atLeast: self.invalidationsKnownUntil)
    guard stored.isNews(to: self.lastInvalidation) else { return false }
    store.learn(of: stored)
    return true
  }

  /// What is released outside the lock when it is replaced. Not a tuple, whose type would be looked up in the
  /// runtime.
  ///
  /// - Parameters:
  ///   - state: Not changed; its properties would be read of a copy each.
  ///   - error: Set to the state's.
  /// - Returns: The state's value.
  private static func shown(
    by state: inout State, _ error: inout (any Error)?
  ) -> State.StateValue {
    error = state.error
    return state.currentValue
  }

  private func miss(
    _ miss: StorageMiss,
    of entry: StoredEntry? = nil,
    _ store: QueryStore<State>
  ) {
    store.withLock {
      if case .newerVersion = miss { self.isWriting = false }
      if miss.isNothing { self.hasStored = true }
    }
    self.didHydrate(from: entry, miss, byteCount: -1)
  }

  private func didHydrate(from entry: StoredEntry?, _ miss: StorageMiss?, byteCount: Int) {
    probe_hydrate_end(Probes.number(of: self.slot), Int64(byteCount))
    self.storage.didHydrate(self.slot, from: entry, miss)
  }

  private func decode(
    _ entry: StoredEntry,
    in context: QueryContext
  ) throws(UnusableEntry) -> State.PersistedValue? {
    if let miss = self.objection(to: entry, in: context) { throw UnusableEntry(miss: miss) }
    var upgrade: ((Data) throws -> Data)?
    if self.isUpgraded(entry), let raise = self.plan.options.upgrade {
      upgrade = { try raise($0, entry.version) }
    }
    do {
      return try State._value(
        from: entry.content, using: self.plan.options.coder, upgrade: upgrade)
    } catch {
      throw UnusableEntry(miss: .undecodable(RestoredError(error).text))
    }
  }

  /// Why an entry is not even decoded.
  private func objection(to entry: StoredEntry, in context: QueryContext) -> StorageMiss? {
    let options = self.plan.options
    if entry.version > options.version { return .newerVersion(entry.version) }
    if entry.kind != State.persistedKind {
      return .undecodable("a \(entry.kind), and not a \(State.persistedKind)")
    }
    if entry.coder != options.coder.name { return .otherCoder(entry.coder) }
    if self.isExpired(entry.history.valueLastUpdatedAt, in: context) { return .expired }
    if self.isUpgraded(entry), options.upgrade == nil { return .olderVersion(entry.version) }
    return nil
  }

  private func isUpgraded(_ entry: StoredEntry) -> Bool {
    entry.version < self.plan.options.version
  }

  /// What was read beside a value.
  private func extras(of value: State.PersistedValue?, in entry: StoredEntry) -> RestoredExtras {
    guard value != nil else { return RestoredExtras() }
    let isUpgraded = self.isUpgraded(entry)
    var extras = RestoredExtras(
      content: StoredContent(entry.contentMark, isOnlyCompared: isUpgraded))
    // An upgraded value is not the one that its metadata was made for: an older release may have left out
    // what this one shows, and a server that is asked by them would confirm it.
    if isUpgraded { return extras }
    var pages = [_PageKey: Data]()
    if case .pages = entry.content { pages = self.metadata(of: value, in: entry) }
    extras.record = ValueRecord.of(entry.metadata, freshFor: entry.freshFor, pages: pages)
    return extras
  }

  /// What was read beside the pages of a value.
  private func metadata(
    of value: State.PersistedValue?, in entry: StoredEntry
  ) -> [_PageKey: Data] {
    guard let value, case .pages(let pages, _, _) = entry.content,
      pages.contains(where: { $0.metadata != nil })
    else { return [:] }
    var metadata = [_PageKey: Data]()
    for (key, page) in zip(State._pageKeys(of: value), pages) { metadata[key] = page.metadata }
    return metadata
  }

  private func isExpired(_ date: Date?, in context: QueryContext) -> Bool {
    self.plan.options.expiry(of: date).map { $0 < context.queryClock.now() } ?? false
  }

  // MARK: - What others do to the store

  override func stopWriting(beside version: Int, of store: QueryStore<State>) {
    guard version > self.plan.options.version else { return }
    let isNew = store.withLock {
      defer { self.isWriting = false }
      // What hydrates reports it itself.
      return self.isWriting && !self.isHydrating
    }
    if isNew { self.storage.didHydrate(self.slot, from: nil, .newerVersion(version)) }
  }

  /// Takes a newer value that another process has written, unless a store of the query has made a
  /// change of its own since it came.
  func takeOver(
    _ entry: StoredEntry,
    into store: QueryStore<State>,
    ifChangesAre changeCount: Int
  ) {
    let value: State.PersistedValue?
    do {
      value = try self.decode(entry, in: store.context)
    } catch {
      return self.stopWriting(beside: entry.version, of: store)
    }
    let extras = self.extras(of: value, in: entry)
    let context = store.context
    // A value that was folded meanwhile would be a change of the store's own.
    store.withLock { self.isTakingOver = true }
    let mark = entry.outboxSequence
    var isInvalidated = false
    var error: (any Error)?
    let replaced = store.withLockTakingValue(in: context, upTo: mark) {
      self.isTakingOver = false
      let replaced = Self.shown(by: &store._state, &error)
      guard self.isWriting, self.slot.hasNoChange(since: changeCount) else { return replaced }
      self.isPristine = false
      self.failures = PersistedFailures(entry.history)
      self.content = extras.content
      let isNews = self.read(entry.history.lastInvalidation, by: store)
      self.lastInvalidation = entry.history.lastInvalidation
      self.isFetched = true
      store.setMark(entry.mark)
      store.restore(value, extras.record, entry.history)
      if isNews, store._state.isInvalidated {
        // As if it had been asked for here.
        isInvalidated = store.subscribers > 0 && !store.isFetchingAnew
      }
      self.contentNumber = store.tag.number
      return replaced
    }
    withExtendedLifetime(replaced) {}
    withExtendedLifetime(error) {}
    store.layEdits()
    if isInvalidated { store.startAutomaticFetch() }
  }
}

// Outside the class, since a generic type would be looked up in the runtime at each use.

/// What belongs to a stored value.
private struct RestoredExtras {
  var record: ValueRecord?
  var content = StoredContent()
}

/// A query cannot use an entry.
private struct UnusableEntry: Error {
  let miss: StorageMiss
}
