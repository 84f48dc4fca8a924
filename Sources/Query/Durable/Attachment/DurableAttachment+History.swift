import FoundationEssentials

extension DurableAttachment {
  /// Shows what the storage knows of a store's mutations, before any other thread has seen the
  /// store.
  func hydrate(_ store: Store, from ground: Ground) {
    let (name, instance) = (self.plan.name, ground.instance)
    let limit = store.context.durableHistoryLength
    // The store works without its history; the storage reports why it cannot be read.
    guard
      let records = try? ground.outbox.history(of: name, instance: instance, newest: limit)
    else { return }
    var entries = [MutationState<Arguments, Value>.HistoryEntry]()
    for record in records {
      // Entries that another release has written, and that this one cannot read, are left out.
      guard
        let arguments = try? self.arguments(
          record.arguments, version: record.version, coder: record.coder)
      else { continue }
      entries.append(self.entry(of: record, arguments))
    }
    guard let newestDate = entries.last?.lastUpdatedAt ?? entries.last?.startDate else { return }
    store.withLock {
      store._state.restore(entries)
      store.valueOrigin = .storage(storedAt: newestDate)
    }
  }

  private func entry(
    of record: RecordedMutation,
    _ arguments: Arguments
  ) -> MutationState<Arguments, Value>.HistoryEntry {
    let result = self.result(of: record)
    let task = QueryTask(
      context: QueryContext(), finishedWith: result.map { MutationValue(returnValue: $0) })
    var entry = MutationState<Arguments, Value>.HistoryEntry(
      arguments: arguments, startDate: record.createdAt, fetch: task)
    entry.isLoading = false
    entry._currentResult = result
    entry._lastUpdatedAt = record.updatedAt
    entry.durable = DurableMark(
      id: record.id, idempotencyKey: record.idempotencyKey, number: record.number,
      isLive: record.isLive, isOver: record.isOver)
    return entry
  }

  private func result(of record: RecordedMutation) -> Result<Value, any Error> {
    switch record.state {
    case .ended(.succeeded): Result { try self.value(of: record) }
    case .ended(let outcome): .failure(MutationEndedError(id: record.id, outcome))
    case .outbox(.dead, _, let reason):
      .failure(
        MutationDeadError(id: record.id, reason: reason ?? .rejected, lastError: record.error))
    case .outbox(_, let waitReason, _):
      .failure(
        MutationQueuedError(
          id: record.id, idempotencyKey: record.idempotencyKey, waitReason: waitReason,
          underlyingError: record.error))
    }
  }

  /// The parts of a mutation that an entry of the history shows.
  ///
  /// - Returns: The result; whether the row is live; whether it has ended for good.
  func entryValues(
    of standing: MutationStanding,
    _ id: UUID
  ) -> (result: Result<Value, any Error>, isLive: Bool, isOver: Bool) {
    switch standing {
    case .pending(let entry, _), .leased(let entry):
      (.failure(MutationQueuedError(entry)), true, false)
    case .dead(let entry): (.failure(MutationDeadError(entry)), false, false)
    case .ended(let record): (self.result(of: record), false, true)
    case .unknown: (.failure(MutationEndedError(id: id, reason: .unknown)), false, true)
    }
  }
}

extension RecordedMutation {
  /// Whether it waits or runs.
  var isLive: Bool {
    switch state {
    case .outbox(let state, _, _): state != .dead
    case .ended: false
    }
  }

  /// Whether it has ended for good.
  fileprivate var isOver: Bool {
    switch state {
    case .outbox: false
    case .ended: true
    }
  }
}

extension MutationStanding {
  /// Whether it waits or runs.
  var isLive: Bool {
    switch self {
    case .pending, .leased: true
    case .dead, .ended, .unknown: false
    }
  }

  /// What a mutation is sent with, or was sent with last.
  struct Content {
    let idempotencyKey: String
    let arguments: Data
    let version: Int
    let coder: String
  }

  /// Nil if it is unknown.
  var content: Content? {
    switch self {
    case .pending(let row, _), .leased(let row), .dead(let row):
      Content(
        idempotencyKey: row.idempotencyKey, arguments: row.arguments, version: row.version,
        coder: row.coder)
    case .ended(let record):
      Content(
        idempotencyKey: record.idempotencyKey, arguments: record.arguments,
        version: record.version, coder: record.coder)
    case .unknown: nil
    }
  }
}
