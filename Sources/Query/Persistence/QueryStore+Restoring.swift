import FoundationEssentials

extension QueryStore where State: PersistableQueryState {
  /// Shows a stored value. The caller holds the lock.
  func restore(
    _ value: State.PersistedValue?, _ record: ValueRecord?, _ history: UpdateHistory
  ) {
    self.take(value, record, history)
    self.emit(.stateChanged, in: self._context)
  }

  private func take(
    _ value: State.PersistedValue?, _ record: ValueRecord?, _ history: UpdateHistory
  ) {
    let isKnown = Self.restore(value, history, into: &self._state)
    self.tag.replace(record)
    if history.valueUpdateCount > 0, let date = history.valueLastUpdatedAt, !isKnown {
      self.valueOrigin = .storage(storedAt: date)
    }
  }

  /// - Parameter state: Not the store's property, which would be copied whole for each look at it.
  /// - Returns: Whether the state has had the value.
  private static func restore(
    _ value: State.PersistedValue?, _ history: UpdateHistory, into state: inout State
  ) -> Bool {
    var history = history
    let known = state.valueLastUpdatedAt
    // A stored date has microseconds. Another process that only failed has stored nothing new.
    let isKnown =
      known != nil && state.valueUpdateCount == history.valueUpdateCount
      && known?.microsecondsSince1970 == history.valueLastUpdatedAt?.microsecondsSince1970
    if isKnown { history.valueLastUpdatedAt = known }
    state.restore(value, history: history)
    return isKnown
  }

  /// Shows a stored value under what happened while it was read: an error, an invalidation. The caller
  /// holds the lock.
  ///
  /// - Returns: Whether it was invalidated.
  func restoreUnderLaterChanges(
    _ value: State.PersistedValue?, _ record: ValueRecord?, _ history: UpdateHistory
  ) -> Bool {
    let later = LaterChanges(of: &self._state)
    self.take(value, record, history)
    if let error = later.error { self.showAgain(error, later) }
    if later.isInvalidated { self._state.invalidate() }
    self.emit(.stateChanged, in: self._context)
    return later.isInvalidated
  }

  private func showAgain(_ error: any Error, _ later: LaterChanges) {
    guard let date = later.errorDate else { return }
    var context = self._context
    context.queryClock = .timeFreeze(date)
    // Each of them counts.
    for _ in 0..<later.errorCount { self._state.update(with: .failure(error), using: context) }
  }
}

/// What happened to a state while its value was read.
private struct LaterChanges {
  let error: (any Error)?
  let errorDate: Date?
  let errorCount: Int
  let isInvalidated: Bool

  /// - Parameter state: Not changed; its properties would be read of a copy each.
  init(of state: inout some QueryStateProtocol) {
    (self.error, self.errorDate) = (state.error, state.errorLastUpdatedAt)
    (self.errorCount, self.isInvalidated) = (state.errorUpdateCount, state.isInvalidated)
  }
}
