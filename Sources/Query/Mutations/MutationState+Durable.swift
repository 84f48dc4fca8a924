import Foundation

// How the outbox of a storage changes the history of a durable mutation. An entry is one mutation
// there, however many attempts it takes.

extension MutationState {
  /// Adds an entry for a committed mutation, or a new attempt to its existing entry.
  @usableFromInline
  mutating func show(_ entry: HistoryEntry, of admitted: any AdmittedAttempt) {
    var entry = entry
    entry.durable = DurableMark(
      id: admitted.id, idempotencyKey: admitted.idempotencyKey, isLive: true)
    guard admitted.isOld, let index = self.index(of: admitted.id) else {
      self._history.append(entry)
      return
    }
    self._history.remove(at: index)
    self._history.insert(entry, at: index)
  }

  /// Notes which mutation the entry of a task is about.
  mutating func note(_ admitted: any AdmittedAttempt, at task: QueryTaskIdentifier) {
    self._history.modify(id: task) { entry in
      entry.durable = DurableMark(
        id: admitted.id, idempotencyKey: admitted.idempotencyKey, isLive: true)
    }
  }

  /// Adds an entry for a committed mutation that another process or a replayer sends.
  mutating func append(
    _ queued: OutboxEntry,
    _ arguments: Arguments,
    in context: QueryContext
  ) {
    let error = MutationQueuedError(queued)
    let task = QueryTask<QueryValue>(context: context, finishedWith: .failure(error))
    var entry = HistoryEntry(
      arguments: arguments, startDate: context.queryClock.now(), fetch: task)
    entry.isLoading = false
    entry._currentResult = .failure(error)
    entry._lastUpdatedAt = entry.startDate
    entry.durable = DurableMark(
      id: queued.id, idempotencyKey: queued.idempotencyKey, isLive: true)
    self._history.append(entry)
    if self._history.count > context.maxMutationHistoryLength { self._history.removeFirst() }
  }

  /// Removes a task that was dropped before it ran. A saved mutation stays, and is queued.
  @usableFromInline
  mutating func dropUnrun(_ task: QueryTaskIdentifier) {
    guard let entry = self._history[id: task], let mark = entry.durable, mark.isLive else {
      self._history.remove(id: task)
      return
    }
    self._history.modify(id: task) { entry in
      entry.isLoading = false
      entry._currentResult = .failure(
        MutationQueuedError(
          id: mark.id, idempotencyKey: mark.idempotencyKey, waitReason: nil))
    }
  }

  /// Says whether a mutation is live.
  mutating func setLive(_ isLive: Bool, _ id: UUID) {
    guard let index = self.index(of: id) else { return }
    let task = self._history[index].id
    self._history.modify(id: task) { $0.durable?.isLive = isLive }
  }

  /// Shows what became of a mutation that does not run here.
  ///
  /// - Returns: Whether there is such an entry.
  mutating func refresh(
    _ id: UUID,
    _ result: Result<Value, any Error>,
    isLive: Bool,
    in context: QueryContext
  ) -> Bool {
    guard let index = self.index(of: id), !self._history[index].isLoading else { return false }
    let date = context.queryClock.now()
    let task = self._history[index].id
    self._history.modify(id: task) { entry in
      entry._currentResult = result
      entry._lastUpdatedAt = date
      entry.durable?.isLive = isLive
    }
    if task == self._history.last?.id, !isLive { self.record(result, at: date) }
    return true
  }

  /// Takes the history of earlier launches.
  mutating func restore(_ entries: [HistoryEntry]) {
    for entry in entries {
      self._history.append(entry)
      guard let result = entry.currentResult, let date = entry.lastUpdatedAt else { continue }
      self.record(result, at: date)
    }
  }

  private mutating func record(_ result: Result<Value, any Error>, at date: Date) {
    switch result {
    case .success:
      self.order.attemptValue = self.order.next()
      self.updates.recordValue(at: date)
    case .failure(let error):
      self.order.attemptError = self.order.next()
      self.updates.recordError(error, at: date)
    }
  }

  /// The index of a mutation, searched from the newest.
  private func index(of id: UUID) -> Int? {
    self._history.lastIndex { $0.durable?.id == id }
  }
}
