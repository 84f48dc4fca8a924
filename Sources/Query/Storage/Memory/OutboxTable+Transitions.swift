import Foundation

// MARK: - What transitions are made of

extension OutboxTable {
  /// Makes a row pending.
  mutating func makePending(at index: Int, _ wait: OutboxWait = .nothing) {
    self.rows[index].entry.state = .pending
    self.rows[index].entry.deadReason = nil
    self.rows[index].wait = wait
    self.effects.events.append(.pending(self.rows[index].entry.id))
  }

  /// Makes a row dead. Those that depend on it go on waiting.
  mutating func kill(at index: Int, _ reason: MutationDeadReason) {
    self.rows[index].entry.state = .dead
    self.rows[index].entry.deadReason = reason
    self.rows[index].wait = .nothing
    self.effects.events.append(.dead(self.rows[index].entry.id, reason))
  }

  /// Moves a row into the history.
  mutating func end(
    at index: Int,
    _ outcome: RecordedMutation.Outcome,
    result: Data? = nil,
    successor: UUID? = nil,
    _ time: OutboxTime
  ) {
    let row = self.rows.remove(at: index)
    var record = RecordedMutation(row, .ended(outcome))
    record.result = result
    record.successor = successor
    record.updatedAt = time.wall
    self.history.append(
      EndedMutation(
        record: record, outcome: outcome, name: row.entry.name, instance: row.entry.instance,
        lane: row.entry.lane, endedAt: time.wall))
  }

  /// Ends a mutation that will not be carried out: those that depend on it are dead.
  mutating func abandon(at index: Int, _ outcome: RecordedMutation.Outcome, _ time: OutboxTime) {
    let id = self.rows[index].entry.id
    self.end(at: index, outcome, time)
    self.effects.events.append(outcome == .discarded ? .discarded(id) : .cancelled(id))
    for index in self.rows.indices where self.rows[index].dependencies.contains(id) {
      if self.rows[index].isLive { self.kill(at: index, .dependency) }
    }
    // A caller that retries one of them wants it sent without that one.
    self.removeEdges(to: id)
  }

  /// Removes the dependencies on a mutation.
  mutating func removeEdges(to id: UUID) {
    for index in self.rows.indices { self.rows[index].dependencies.removeAll { $0 == id } }
  }

  /// Gives a row another key, and perhaps other arguments. The last attempt keeps what it was sent with.
  mutating func replaceKey(at index: Int, by key: String, arguments: Data? = nil) {
    let old = self.rows[index].entry
    if var attempt = self.attempts[old.id]?.popLast() {
      attempt.replacedKey = attempt.replacedKey ?? old.idempotencyKey
      if let arguments, arguments != old.arguments {
        attempt.replacedArguments = attempt.replacedArguments ?? old.arguments
      }
      self.attempts[old.id]?.append(attempt)
    }
    self.rows[index].entry.idempotencyKey = key
    if let arguments { self.rows[index].entry.arguments = arguments }
  }

  /// Releases rows whose alias is published, and declares those dead for which no earlier live row
  /// could publish it. Call it when an alias was published, or a row is no longer live.
  mutating func resolveAliasWaits() {
    var isAnyEarlierLive = false
    for index in self.rows.indices {
      if case .alias(let alias) = self.rows[index].wait {
        if self.aliases[alias] != nil {
          self.rows[index].wait = .nothing
        } else if !isAnyEarlierLive {
          self.kill(at: index, .dependency)
        }
      }
      isAnyEarlierLive = isAnyEarlierLive || self.rows[index].isLive
    }
  }
}
