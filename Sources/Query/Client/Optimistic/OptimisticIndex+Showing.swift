import FoundationEssentials

// What a call of this process has changed is shown before the call returns: the readings after the outbox's
// events have pauses.

extension OptimisticIndex: MutationFollower {
  func didChange(_ change: MutationChange) {
    switch change {
    case .ended(let id, let maybeApplied):
      let stores = self.show(id, as: nil)
      // Its server may have what is shown no longer.
      if maybeApplied { for store in stores { store.invalidate() } }
    case .retried(let id):
      self.show(id, as: .waiting(nil))
      // It may have been sent since, and a reading may have shown that already.
      self.requestReading()
    // Its edits are others.
    case .rewritten: if self.isActive { self.read() }
    }
  }

  /// Shows where a mutation stands.
  ///
  /// - Parameters:
  ///   - id: The mutation.
  ///   - standing: Where it stands now; nil: it has ended without success.
  /// - Returns: The stores of the queries that it changes.
  @discardableResult
  func show(
    _ id: UUID, as standing: OptimisticContext.Standing?
  ) -> [any OverlaidStore] {
    guard self.isActive else { return [] }
    let (edits, change) = self.guarded.withLock { index -> (PlacedEdits, RowChange) in
      var change = RowChange(since: index.seen)
      let row = index.rows[id]
      // An end is final.
      if row?.row.sequence != nil { return (PlacedEdits([]), change) }
      let stamp = index.nextStamp()
      guard let standing else { return (index.end(id, &change, at: stamp), change) }
      guard let row else { return (PlacedEdits([]), change) }
      index.remove(id, &change, at: stamp)
      index.removed[id] = nil
      index.insert(row.row.with(standing), row.edits, &change, at: stamp)
      change.added = nil
      return (row.edits, change)
    }
    if edits.isEmpty { return [] }
    return self.lay(change, isSettled: true).filter { store in
      edits.contains { $0.isPrefix ? $0.path.isPrefix(of: store.path) : $0.path == store.path }
    }
  }
}

extension OptimisticIndex {
  /// Shows that a mutation has succeeded, or has ended otherwise, or is dead.
  ///
  /// - Parameter standing: Where it stands; nothing is shown of one that is still to be sent.
  func showEnd(_ standing: MutationStanding) {
    guard self.isActive else { return }
    switch standing {
    case .ended(let record): if !self.showSuccess(record) { self.show(record.id, as: nil) }
    case .dead(let entry): self.show(entry.id, as: .dead(entry.deadReason ?? .rejected))
    case .pending, .leased, .unknown: break
    }
  }

  /// - Returns: Whether it is a success.
  private func showSuccess(_ record: RecordedMutation) -> Bool {
    guard case .ended(.succeeded) = record.state else { return false }
    // What a replayer has ended before it is shown by the next reading: until then its edit would be made
    // over this one, as that of a live row is.
    if self.guarded.withLock({ $0.hasOlderInLane(of: record.id) }) { self.read() }
    let change = self.guarded.withLock { index -> RowChange? in
      var change = RowChange(since: index.seen)
      guard let known = index.rows[record.id] else { return change }
      // It was sent with other arguments than those that are known.
      if known.row.key.text != record.idempotencyKey { return nil }
      if known.row.sequence == nil, let row = OptimisticRow(record, of: known.row.mutation) {
        let stamp = index.nextStamp()
        index.remove(record.id, &change, at: stamp)
        index.removed[record.id] = nil
        index.insert(row, known.edits, &change, at: stamp)
      }
      // If a reading on another thread has taken it, that may not have shown it yet.
      change.add(known.edits)
      return change
    }
    guard let change else {
      self.read()
      return true
    }
    self.lay(change, isSettled: true)
    return true
  }
}

extension OptimisticIndex.Guarded {
  /// Beyond so many rows a reading is not worth it for a tenth of a second.
  private static let readAtOnce = 1_000

  /// Whether a live row stands before another one in its lane, so that it has ended, or was tried again.
  fileprivate func hasOlderInLane(of id: UUID) -> Bool {
    guard let row = self.rows[id]?.row, let lane = row.lane, self.rows.count <= Self.readAtOnce
    else { return false }
    return self.rows.values.contains { other in
      other.row.number < row.number && other.row.sequence == nil && !other.row.isDead
        && other.row.lane == lane
    }
  }
}

extension QueryClient {
  /// Shows what has become of the mutations of the storage.
  package func showMutations() {
    if self.optimistic.isActive { self.optimistic.read() }
  }
}
