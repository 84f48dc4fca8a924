import Foundation

// MARK: - Claiming

extension OutboxTable {
  /// Leases the lowest requested rows that may run now. Rows on its way that grew too old become
  /// dead instead, and use up neither the limit nor a host's slots.
  mutating func claim(_ request: ClaimRequest, at time: OutboxTime) -> ClaimAnswer {
    if case .lowest(let handlers) = request.target { self.handlers = handlers }
    var answer = ClaimAnswer()
    var slots = request.hostSlots
    while answer.leases.count < request.limit,
      let index = self.next(request, slots, at: time)
    {
      let row = self.rows[index]
      if row.isTooOld(at: time) {
        self.kill(at: index, .expired)
        answer.expired += 1
      } else {
        slots[row.entry.effectiveHost] -= 1
        let isReplay = request.target.isLowest || row.entry.attempts > 0
        answer.leases.append(self.lease(at: index, isReplay: isReplay, time))
      }
    }
    if answer.expired > 0 { self.resolveAliasWaits() }
    answer.nextDue = self.nextDue(request, at: time)
    return answer
  }

  /// The index of the lowest row that may run now, and whose host has a slot.
  private func next(
    _ request: ClaimRequest,
    _ slots: HostSlots,
    at time: OutboxTime
  ) -> Int? {
    let heads = self.heads
    return self.rows.firstIndex { row in
      let isHead = heads.contains(row.entry.number)
      return self.mayRun(row, isHead: isHead, at: time) && request.means(row.entry)
        && slots[row.entry.effectiveHost] > 0
    }
  }

  /// How long until a row that is first in its lane, and waits for nothing else, becomes due.
  private func nextDue(_ request: ClaimRequest, at time: OutboxTime) -> Duration? {
    guard self.pausedSince == nil else { return nil }
    let heads = self.heads
    var earliest: Duration?
    for row in self.rows where row.entry.state == .pending && row.dependencies.isEmpty {
      guard let remaining = row.wait.remaining(at: time), heads.contains(row.entry.number),
        request.means(row.entry)
      else { continue }
      earliest = min(earliest ?? remaining, remaining)
    }
    return earliest
  }

  /// Begins an attempt.
  mutating func lease(at index: Int, isReplay: Bool, _ time: OutboxTime) -> MutationLease {
    self.rows[index].entry.attempts += 1
    self.rows[index].entry.state = .leased
    self.rows[index].token += 1
    self.rows[index].credentialsEpoch = self.credentialsEpoch
    self.rows[index].wait = .nothing
    self.rows[index].isCancelRequested = false
    let row = self.rows[index]
    let attempt = OutboxAttempt(number: row.entry.attempts, startedAt: time.wall)
    self.attempts[row.entry.id] = (self.attempts[row.entry.id] ?? []).suffix(19) + [attempt]
    let lease = MutationLease(
      entry: row.entry, isReplay: isReplay, token: row.token, epoch: self.epoch)
    self.rows[index].lease = lease
    self.effects.events.append(.claimed(row.entry.id))
    return lease
  }
}

extension ClaimRequest.Target {
  /// Whether any row will do.
  fileprivate var isLowest: Bool { if case .lowest = self { true } else { false } }
}

extension ClaimRequest {
  /// Whether a request includes a row.
  fileprivate func means(_ entry: OutboxEntry) -> Bool {
    switch self.target {
    case .lowest(let handlers):
      (self.lane == nil || entry.lane == self.lane) && handlers.contains { $0.canRun(entry) }
    case .mutation(let id): entry.id == id
    }
  }
}

// MARK: - Settling

extension OutboxTable {
  /// Records how an attempt ended.
  ///
  /// - Returns: Whether this lease still held; if not, nothing was changed.
  mutating func settle(
    _ lease: MutationLease,
    _ outcome: AttemptOutcome,
    at time: OutboxTime
  ) -> Bool {
    let id = lease.entry.id
    guard lease.epoch == self.epoch, let index = self.index(of: id),
      self.rows[index].entry.state == .leased, self.rows[index].token == lease.token
    else { return false }
    self.rows[index].lease = nil
    self.rows[index].updatedAt = time.wall
    switch outcome {
    case .succeeded(let success): self.succeed(at: index, success, time)
    case .failed(let failure): self.fail(at: index, failure, time)
    case .cancelled(let maybeApplied):
      self.endAttempt(of: id, "cancelled", time)
      self.rows[index].entry.maybeApplied = self.rows[index].entry.maybeApplied || maybeApplied
      self.abandon(at: index, .cancelled, time)
    }
    if self.index(of: id) == nil { self.prune(at: time) }
    self.resolveAliasWaits()
    return true
  }

  private mutating func succeed(at index: Int, _ success: SuccessfulAttempt, _ time: OutboxTime) {
    let id = self.rows[index].entry.id
    self.endAttempt(of: id, "succeeded", error: success.warning, time)
    self.rows[index].entry.lastError = success.warning
    for (alias, value) in success.aliases where self.aliases[alias] == nil {
      self.aliases[alias] = OutboxAlias(
        value: value, publishedAt: time.wall, newestNumber: self.lastNumber)
    }
    self.end(at: index, .succeeded, result: success.result, time)
    self.removeEdges(to: id)
    self.effects.events.append(.succeeded(id))
  }

  private mutating func fail(at index: Int, _ failure: FailedAttempt, _ time: OutboxTime) {
    let id = self.rows[index].entry.id
    self.endAttempt(of: id, failure.outcome, code: failure.code, error: failure.error, time)
    self.rows[index].entry.failures += failure.isCharged ? 1 : 0
    self.rows[index].entry.lastError = failure.error
    self.rows[index].lastFailure = failure.outcome
    if failure.maybeApplied { self.rows[index].entry.maybeApplied = true }
    // A requested cancellation takes effect, since the attempt did not succeed.
    if self.rows[index].isCancelRequested { return self.abandon(at: index, .cancelled, time) }
    self.goOn(at: index, failure.next, time)
  }

  /// Moves a row on as its failure says.
  private mutating func goOn(at index: Int, _ next: FailedAttempt.Next, _ time: OutboxTime) {
    switch next {
    case .now: self.makePending(at: index)
    case .wait(let reason, let delay):
      self.makePending(at: index, .time(reason, after: delay, from: time))
    case .waitForCredentials:
      // If the credentials changed while it was refused, it is tried with the new ones.
      let isNewest = self.rows[index].credentialsEpoch == self.credentialsEpoch
      self.makePending(at: index, isNewest ? .credentials : .nothing)
    case .waitForAlias(let alias): self.await(alias, at: index)
    case .retry(let arguments, let key, let delay):
      self.replaceKey(at: index, by: key, arguments: arguments)
      self.makePending(at: index, .time(.backoff, after: delay, from: time))
    case .dead(let reason): self.kill(at: index, reason)
    case .drop:
      let id = self.rows[index].entry.id
      self.end(at: index, .superseded, time)
      self.removeEdges(to: id)
      self.effects.events.append(.superseded(id, by: nil))
    }
  }

  /// Lets a row wait for an alias, if an earlier row can still publish it.
  private mutating func await(_ alias: String, at index: Int) {
    if self.aliases[alias] != nil {
      self.makePending(at: index)
    } else if self.rows[..<index].contains(where: \.isLive) {
      self.makePending(at: index, .alias(alias))
    } else {
      self.kill(at: index, .dependency)
    }
  }

  /// Ends the record of the attempt that runs.
  private mutating func endAttempt(
    of id: UUID,
    _ outcome: String,
    code: Int? = nil,
    error: RestoredError? = nil,
    _ time: OutboxTime
  ) {
    guard var attempt = self.attempts[id]?.popLast() else { return }
    attempt.endedAt = time.wall
    attempt.outcome = outcome
    attempt.code = code
    attempt.error = error
    self.attempts[id]?.append(attempt)
  }
}
