extension QueryStore {
  /// Logs an event with the state that is shown after it. If edits must be made for that first, the event
  /// waits. The caller holds the lock.
  @usableFromInline
  func logOverlaid(_ event: StoreEvent<State>) {
    guard let overlay else { return }
    if overlay.keeps(event) {
      self.aftermath.hasUnsettledEdits = true
    } else {
      self.log(event, showing: self.visibleState)
    }
  }

  /// Logs an event. The caller holds the lock.
  func log(_ event: StoreEvent<State>, showing state: State) {
    if event.kind == .stateChanged { self.noteObservedChange(to: state) }
    if self.isFollowed(for: event.kind) { self.append(event.with(state)) }
  }

  /// What a store with an overlay shows. The caller holds the lock.
  @usableFromInline
  func overlaidState() -> State {
    self.overlay?.visible(over: self._state, isExclusive: self.lockDepth > 1) ?? self._state
  }

  /// What is shown. The caller holds the lock.
  var visibleState: State { self.overlay == nil ? self._state : self.overlaidState() }

  /// The value beneath the edits.
  @usableFromInline
  var baseValue: State.StateValue { self.withLock { self._state.currentValue } }

  /// Whether the current thread is running an edit of this store; the edit must not set the store's value.
  /// The caller holds the lock.
  @usableFromInline
  func isSetInsideEdit() -> Bool {
    guard let overlay, overlay.isEditing else { return false }
    QueryWarning.valueSetInsideEdit(path: self.path).report()
    return true
  }

  // MARK: - Marks

  /// The newest known end of a mutation: the value of a fetch that begins now includes everything up to it.
  /// Nil if this store needs no marks.
  @usableFromInline
  var endedSequence: Int64? { self.storing?.endedSequence ?? self.overlay?.index.endedSequence }

  /// Notes what the value of a fetch that begins now can include. The caller holds the lock.
  @usableFromInline
  func noteBeginning(of work: FetchWork) {
    if work.mark == nil { work.mark = self.endedSequence }
    if work.beganAt == nil, self.storing != nil { work.beganAt = .now }
  }

  /// Records how much of the history a fetched value includes, and which invalidations. The caller holds
  /// the lock.
  ///
  /// - Parameters:
  ///   - work: The fetch.
  ///   - isFinal: Whether it has returned the value, and not yielded it.
  ///   - isStored: Whether it is stored, and not the beginning of a list.
  ///   - context: The context of the fetch.
  @usableFromInline
  func mark(by work: FetchWork, isFinal: Bool, isStored: Bool = true, in context: QueryContext) {
    // The part of the value that was not fetched is as old as before.
    let isBesideOthers = State._addsToValue(in: context) && self._state.valueUpdateCount > 1
    if isBesideOthers {
      self.storing?.didFetchPart(since: work.source.beganAt)
    } else if isStored {
      self.storing?.didFetch(since: work.source.beganAt)
    }
    let isPart = !isFinal || isBesideOthers
    let old = self.overlay?.mark ?? self.storing?.mark
    guard var mark = work.mark.map({ ValueMark(sequence: $0) }) ?? self.overlay?.firstMark else {
      return self.setMark(nil)
    }
    mark.includedKeys = work.source.receipt?.keys
    if let old, isPart { mark.formUnion(withPartOf: old) }
    self.setMark(mark)
  }

  /// Runs a body under the lock that takes a value with another mark. Before that, the edits are laid that
  /// the present value includes and that one may lack, and those that it includes are known to have ended.
  ///
  /// - Parameters:
  ///   - context: A context of the store.
  ///   - work: The fetch that the value comes from; nil: none.
  ///   - end: The newest end that a value of no fetch includes; nil: it is not known.
  ///   - body: Takes the value.
  @usableFromInline
  func withLockTakingValue<T>(
    in context: QueryContext, of work: FetchWork? = nil, upTo end: Int64? = nil, _ body: () -> T
  ) -> T {
    guard let index = context.queryClient?.optimistic, index.isActive else {
      return self.withLock(body)
    }
    var closed: EditGap?
    while true {
      var gap: EditGap?
      let result = self.withLock { () -> T? in
        gap = self.gap(before: work?.mark ?? end, index)
        // If the outbox cannot be read, the value is shown as it is.
        return gap == nil || gap == closed ? body() : nil
      }
      if let result { return result }
      if let gap { index.close(gap, of: self) }
      closed = gap
    }
  }

  /// What must be known of the outbox before a value is shown; nil if it is. The caller holds the lock.
  private func gap(before mark: Int64?, _ index: any EditSource) -> EditGap? {
    guard let mark = mark ?? self.overlay?.firstMark.sequence else { return nil }
    let known = (self.overlay?.mark ?? self.storing?.mark)?.sequence ?? mark
    let gap = EditGap(start: min(mark, known), end: max(mark, known))
    return index.isClosed(gap, at: self.path, version: self.overlay?.version) ? nil : gap
  }

  /// Sets the mark of a new value. The caller holds the lock.
  func setMark(_ mark: ValueMark?) {
    self.storing?.mark = mark
    guard let overlay else { return }
    overlay.baseDidChange(mark ?? overlay.mark)
  }

  /// Keeps the edits of live mutations over a value that was reset. The caller holds the lock.
  func overlayDidReset() {
    self.storing?.mark = nil
    guard let overlay else { return }
    let mark = ValueMark(sequence: overlay.index.endedSequence)
    overlay.baseDidChange(mark)
    self.storing?.mark = mark
    // Mutations that are acknowledged before the next fetch stay visible, at the next launch as well.
    if overlay.hasPendingChanges {
      self.persist(.changed)
    }
  }
}

// MARK: - What is shown and not sent

extension QueryStore where State: OptimisticQueryState {
  /// Whether the store shows a change that no server has acknowledged, or a mutation waits that changes
  /// this query but cannot be shown, since this program has not registered it. Observation tracks it.
  public var hasPendingChanges: Bool {
    self.observed(.pendingChanges) {
      self.overlay?.hasPendingChanges == true
        || self._context.queryClient?.optimistic.hasUnknownChange(
          at: self.path, storedAs: self.storing?.identity) == true
    }
  }

  /// The changes that are shown and not yet acknowledged, in the order of enqueueing, including those of
  /// dead mutations whose edits are kept. Observation tracks it.
  public var pendingChanges: [PendingChange] {
    self.observed(.pendingChanges) { self.overlay?.pendingChanges ?? [] }
  }

  /// The value beneath the edits: the server's last answer, with the edits that it has acknowledged since
  /// as far as this program knows them, or a value that was set by hand. Observation tracks it.
  public var storedValue: State.StateValue {
    self.observed(.value) { self._state.currentValue }
  }
}

// MARK: - As the index knows it

/// A store over whose value edits can be laid.
protocol OverlaidStore: AnyObject, Sendable {
  var path: QueryPath { get }
  /// How much of the history its value includes; nil: unknown.
  var optimisticMark: ValueMark? { get }
  /// Whether edits can be laid over its value.
  var isOverlayable: Bool { get }
  /// Whether it is still waiting for its stored value.
  var isHydrating: Bool { get }
  /// Lowers its mark to this end if the mark is newer: the history has no more than that.
  func limitMark(to sequence: Int64)
  /// - Returns: Whether the edits are laid, or newer ones; if not, the index has newer ones.
  @discardableResult
  func lay(_ edits: [LaidEdit], version: Int, since mark: Int64, _ index: any EditSource) -> Bool
  func lay(added edit: LaidEdit, version: Int) -> Bool
  func canShow(_ edit: PlacedEdit) -> Bool
  /// How much of the history its value and all values being fetched include; nil: unknown.
  var lowestMark: Int64? { get }
  /// Drops acknowledged edits that its value and all values being fetched include.
  func forgetEdits(upTo sequence: Int64)
  /// Tells Observation that the set of waiting mutations has changed.
  func pendingChangesDidChange()
  /// Makes the edits that another thread has added but not yet made.
  func settleEdits()
  /// Makes its value stale.
  func invalidate()
  /// Folds the acknowledged edits up to an end into the value, if its mark and its edits have not changed
  /// meanwhile.
  func fold(upTo limit: Int64, after mark: Int64, version: Int)
}

extension QueryStore: OverlaidStore {
  var optimisticMark: ValueMark? {
    self.withLock { self.overlay?.mark ?? self.storing?.mark }
  }

  var isOverlayable: Bool { State.self is any OptimisticQueryState.Type }

  @usableFromInline
  var isHydrating: Bool { self.withLock { self.storing?.isHydrating ?? false } }

  func limitMark(to sequence: Int64) {
    self.withLock {
      guard let mark = self.overlay?.mark ?? self.storing?.mark, mark.sequence > sequence else {
        return
      }
      self.setMark(ValueMark(sequence: sequence, includedKeys: mark.includedKeys))
      if self.overlay != nil { self.emit(.stateChanged, in: self._context.with(.optimistic)) }
    }
  }

  func canShow(_ edit: PlacedEdit) -> Bool { edit.declared.state == State.self }

  var lowestMark: Int64? {
    self.withLock { () -> Int64? in
      guard self.storing?.isHydrating != true,
        let mark = self.overlay?.mark ?? self.storing?.mark
      else { return nil }
      let first = self.overlay?.firstMark.sequence ?? mark.sequence
      var lowest = mark.sequence
      for fetch in self.fetches.all { lowest = min(lowest, fetch.mark ?? first) }
      return lowest
    }
  }

  func forgetEdits(upTo sequence: Int64) {
    self.withLock { self.overlay?.forget(upTo: sequence) }
  }

  func pendingChangesDidChange() {
    self.withLock {
      if self.observation != nil { self.aftermath.changes.insert(.pendingChanges) }
    }
  }

  func settleEdits() { self.withLock { self.overlay }?.settle(self) }

  @discardableResult
  func lay(
    _ edits: [LaidEdit], version: Int, since sequence: Int64, _ index: any EditSource
  ) -> Bool {
    self.withLock {
      if self.overlay == nil, !edits.isEmpty {
        // That newer ones were laid leaves no trace if there were none.
        guard index.version(at: self.path) == version else { return false }
        self.beginOverlay(of: edits, since: sequence, index)
      }
      if let overlay, overlay.take(edits, version: version) {
        self.emit(.stateChanged, in: self._context.with(.optimistic))
      }
      return true
    }
  }

  func fold(upTo limit: Int64, after mark: Int64, version: Int) {
    guard let (overlay, fold) = self.withLock({ self.beginFold(limit, mark, version) }) else {
      return
    }
    let value = overlay.value(of: fold)
    let replaced = self.withLock { () -> State.StateValue? in
      overlay.endEditing()
      guard overlay.isCurrent(fold), self.isFoldable else { return nil }
      let replaced = self._state.currentValue
      overlay.take(value, upTo: limit, into: &self._state)
      self.tag.replace()
      self.storing?.mark = overlay.mark
      self.persist(.folded)
      self.noteObservedChange(to: self.visibleState)
      return replaced
    }
    withExtendedLifetime(replaced) {}
  }

  /// Whether edits can be folded into the value: it came from a server, no validator asks the server
  /// whether it still holds, and nothing is about to replace it. The caller holds the lock.
  private var isFoldable: Bool {
    (State.self as? any OptimisticQueryState.Type)?._takesAcknowledgedEdits == true
      && self._state.valueUpdateCount > 0 && self.tag.record == nil && self.fetches.isEmpty
      && self.storing?.isHydrating != true && self.storing?.isTakingOver != true
  }

  private func beginFold(
    _ limit: Int64, _ mark: Int64, _ version: Int
  ) -> (StoreOverlay<State>, StoreOverlay<State>.Fold)? {
    guard let overlay, overlay.mark.sequence == mark, overlay.version == version, self.isFoldable,
      let fold = overlay.beginFold(over: self._state, upTo: limit)
    else { return nil }
    return (overlay, fold)
  }

  func lay(added edit: LaidEdit, version: Int) -> Bool {
    self.withLock {
      guard let overlay, overlay.append(edit, version: version) else { return false }
      self.emit(.stateChanged, in: self._context.with(.optimistic))
      return true
    }
  }

  /// Adds an overlay to a value that includes every end known so far. The caller holds the lock.
  private func beginOverlay(
    of edits: [LaidEdit], since sequence: Int64, _ index: any EditSource
  ) {
    guard let type = State.self as? any OptimisticQueryState.Type,
      let aliases = index.aliases
    else { return }
    let known = self.storing?.mark
    let mark = known ?? ValueMark(sequence: sequence)
    func begin<S: OptimisticQueryState>(_: S.Type) {
      self.overlay = StoreOverlay(over: self._state, mark, index, aliases, of: S.self)
    }
    begin(type)
    if known == nil, let storing {
      storing.mark = mark
      // Mutations that are acknowledged before the first fetch stay visible, at the next launch as well. What
      // the value includes needs no entry: it may have been reset.
      if edits.contains(where: { !mark.covers($0.row) }) { self.persist(.changed) }
    }
  }
}
