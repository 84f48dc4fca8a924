import FoundationEssentials

// How the outbox of a storage changes the history of a durable mutation. An entry is one mutation
// there, however many attempts it takes.

extension MutationState {
  /// Adds an entry for a committed mutation, or a new attempt in the place of its existing entry.
  @inlinable
  mutating func show(
    _ entry: HistoryEntry,
    of admitted: any AdmittedAttempt,
    in context: QueryContext
  ) {
    var entry = entry
    entry.durable = DurableMark(admitted)
    if admitted.isOld {
      if let task = self.durableTasks[admitted.id] {
        self._history.replace(id: task, with: entry)
      } else {
        // The history has forgotten it, or another process has enqueued it. A replayer takes the
        // oldest first, so the search is short.
        let next = self._history.firstIndex { ($0.durable?.number ?? .max) > admitted.number }
        self._history.insert(entry, at: next ?? self._history.endIndex)
      }
    } else {
      self._history.append(entry)
    }
    self.durableTasks[admitted.id] = entry.id
    self.forgetOldest(in: context)
  }

  /// Notes which mutation the entry of a task is about.
  mutating func note(
    _ admitted: any AdmittedAttempt,
    at task: QueryTaskIdentifier,
    in context: QueryContext
  ) {
    guard self._history.modify(id: task, { $0.durable = DurableMark(admitted) }) != nil else {
      return
    }
    // An entry is one mutation: another attempt takes the place of the earlier one.
    if let earlier = self.durableTasks[admitted.id], earlier != task {
      self._history.remove(id: earlier)
    }
    self.durableTasks[admitted.id] = task
    self.forgetOldest(in: context)
  }

  /// Adds an entry for a committed mutation that another process or a replayer sends.
  ///
  /// - Returns: Whether it was missing: an attempt may have brought it.
  mutating func append(
    _ queued: OutboxEntry,
    _ arguments: Arguments,
    in context: QueryContext
  ) -> Bool {
    if self.durableTasks[queued.id] != nil { return false }
    let error = MutationQueuedError(queued)
    let task = QueryTask<QueryValue>(context: context, finishedWith: .failure(error))
    var entry = HistoryEntry(
      arguments: arguments, startDate: context.now, fetch: task)
    entry.isLoading = false
    entry._currentResult = .failure(error)
    entry._lastUpdatedAt = entry.startDate
    entry.durable = DurableMark(
      id: queued.id, idempotencyKey: queued.idempotencyKey, number: queued.number)
    self._history.append(entry)
    self.durableTasks[queued.id] = entry.id
    if let length = context.maxMutationHistoryLength, self._history.count > length {
      self.forget(at: 0)
    }
    self.forgetOldest(in: context)
    return true
  }

  /// Removes a task that was dropped before it ran. A saved mutation stays, and is queued.
  @usableFromInline
  mutating func dropUnrun(_ task: QueryTask<QueryValue>) {
    guard let entry = self._history[id: task.id], let mark = entry.durable, mark.isLive else {
      if let mark = self._history.remove(id: task.id)?.durable { self.durableTasks[mark.id] = nil }
      self.recordLatest()
      return
    }
    self._history.modify(id: task.id) { entry in
      entry.isLoading = false
      entry._currentResult = .failure(
        MutationQueuedError(
          id: mark.id, idempotencyKey: mark.idempotencyKey, waitReason: nil))
    }
    self.forgetIfOld(task.id, in: task.context)
  }

  /// Takes the history of earlier launches.
  mutating func restore(_ entries: [HistoryEntry]) {
    for entry in entries {
      self._history.append(entry)
      if let mark = entry.durable { self.durableTasks[mark.id] = entry.id }
      guard let result = entry.currentResult, let date = entry.lastUpdatedAt else { continue }
      self.record(result, at: date, as: self.order.next())
    }
  }
}

// MARK: - What becomes of them

extension MutationState {
  /// Records that a mutation is no longer live.
  ///
  /// - Parameters:
  ///   - id: The mutation.
  ///   - isOver: Whether it has ended for good.
  mutating func close(_ id: UUID, isOver: Bool) {
    guard let task = self.durableTasks[id] else { return }
    self._history.modify(id: task) { entry in
      guard var mark = entry.durable else { return }
      (mark.isLive, mark.isOver) = (false, isOver)
      entry.durable = mark
    }
  }

  /// Notes how much a running attempt has sent.
  ///
  /// - Returns: Whether there is an entry that shows it.
  mutating func note(_ progress: MutationProgress, of id: UUID) -> Bool {
    guard let task = self.durableTasks[id], self._history[id: task]?.isQueued == true else {
      return false
    }
    self._history.modify(id: task) { $0.durable?.progress = progress }
    return true
  }

  /// Whether the history shows a mutation whose task runs.
  func runs(_ id: UUID) -> Bool {
    self.entry(of: id)?.isLoading ?? false
  }

  /// The durable mutations whose tasks run.
  var running: [UUID] { self._history.compactMap { $0.isLoading ? $0.durable?.id : nil } }

  /// What the history shows of a mutation; nil: nothing.
  func entry(of id: UUID) -> HistoryEntry? {
    self.durableTasks[id].flatMap { self._history[id: $0] }
  }

  /// Shows a mutation with what it is sent with from now on.
  ///
  /// - Parameter arguments: Its arguments; nil: those that it has.
  mutating func renew(_ id: UUID, _ arguments: Arguments?, key: String) {
    guard let task = self.durableTasks[id] else { return }
    self._history.modify(id: task) { entry in
      guard let mark = entry.durable else { return }
      if let arguments { entry.content = entry.content.copy(with: arguments) }
      entry.durable = mark.with(key: key)
    }
  }

  /// Whether the history shows a mutation that has not ended and does not run here: another store
  /// or process decides what becomes of it.
  func isDecidedElsewhere(_ id: UUID) -> Bool {
    self.entry(of: id)?.isDecidedElsewhere ?? false
  }

  /// The mutations for which ``isDecidedElsewhere(_:)`` holds.
  var decidedElsewhere: [UUID] {
    self._history.compactMap { $0.isDecidedElsewhere ? $0.durable?.id : nil }
  }

  /// Shows what became of a mutation that does not run here.
  ///
  /// - Parameter isAfterItsTask: Whether its task has just ended. What that has shown stays if it says the same:
  ///   that the mutation has ended, or is saved.
  /// - Returns: Whether there is such an entry.
  mutating func refresh(
    _ id: UUID,
    _ result: Result<Value, any Error>,
    isLive: Bool,
    isOver: Bool,
    isAfterItsTask: Bool,
    in context: QueryContext
  ) -> Bool {
    guard self.isDecidedElsewhere(id), let task = self.durableTasks[id] else { return false }
    if isAfterItsTask, self._history[id: task]?.hasShownEnd == !isLive {
      if !isLive { self.close(id, isOver: isOver) }
      return !isLive
    }
    let date = context.now
    self._history.modify(id: task) { entry in
      entry._currentResult = result
      entry._lastUpdatedAt = date
      entry.durable?.isLive = isLive
      entry.durable?.isOver = isOver
    }
    if task == self._history.last?.id, !isLive {
      self.record(result, at: date, as: self.order.next())
    }
    return true
  }
}

extension MutationState.HistoryEntry {
  fileprivate var isDecidedElsewhere: Bool {
    !self.isLoading && self.durable?.isOver == false
  }

  /// Whether its result is more than that it is saved.
  fileprivate var hasShownEnd: Bool {
    switch self.currentResult {
    case .failure(is MutationQueuedError)?, nil: false
    case .failure?, .success?: true
    }
  }
}

// MARK: - Forgetting

extension QueryContext {
  /// How many durable mutations a history shows: as many as the outbox keeps ended ones by default,
  /// or as `maxHistory(length:)` says. Any number may wait in the outbox.
  @usableFromInline
  var durableHistoryLength: Int {
    self.maxMutationHistoryLength ?? MutationHistoryLimits.default.perMutation
  }

  @usableFromInline
  var hasMaxMutationHistoryLength: Bool { self.maxMutationHistoryLength != nil }
}

extension MutationState {
  /// Removes an entry.
  @inlinable
  mutating func forget(at index: Int) {
    // Most histories have none, and then the entry need not be looked at.
    if !self.durableTasks.isEmpty, let mark = self._history[index].durable {
      self.durableTasks[mark.id] = nil
    }
    self._history.discard(at: index)
  }

  /// Removes the entry that a new one has pushed out of the newest; one that runs goes when it has
  /// ended. So those before the newest all run, and one look is enough.
  @inlinable
  mutating func forgetOldest(in context: QueryContext) {
    if context.hasMaxMutationHistoryLength { return }
    let index = self._history.count - context.durableHistoryLength - 1
    if index >= 0, !self._history[index].isLoading { self.forget(at: index) }
  }

  /// Removes the entry of a task that has ended if it is not among the newest.
  @inlinable
  mutating func forgetIfOld(_ task: QueryTaskIdentifier, in context: QueryContext) {
    if context.hasMaxMutationHistoryLength { return }
    let surplus = self._history.count - context.durableHistoryLength
    if surplus > 0, let index = self._history.index(id: task), index < surplus {
      self.forget(at: index)
    }
  }
}
