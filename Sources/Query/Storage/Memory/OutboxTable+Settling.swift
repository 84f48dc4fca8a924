import Foundation

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
