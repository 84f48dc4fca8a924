import FoundationEssentials

// MARK: - Claiming

extension OutboxTable {
  /// Leases requested rows that may run now, in the order of ``ClaimOrder``. A row that proves too old dies
  /// instead, and uses up neither the limit nor a slot of its host.
  mutating func claim(_ request: ClaimRequest, at time: OutboxTime) -> ClaimAnswer {
    if case .lowest(let handlers) = request.target { self.handlers = handlers }
    var answer = ClaimAnswer(expired: self.expired)
    self.expired = 0
    if request.target.isLowest, self.pauses[.everything] == nil {
      self.hosts = self.hosts.filter { !$0.value.isForgotten(at: time) }
    }
    var slots = request.target.isLowest ? self.slots(of: request, at: time) : request.hostSlots
    var taken = 0
    while taken < request.limit,
      let (index, turns) = self.next(request, slots, at: time)
    {
      let row = self.rows[index]
      if row.isTooOld(at: time) {
        self.kill(at: index, .expired, time)
        answer.expired += 1
      } else {
        // In one lane nothing is overtaken.
        if request.target.isLowest, request.lane == nil { self.turns = turns }
        slots.take(row.entry.effectiveHost, isRepeat: row.standing.isRepeat)
        let isReplay = request.target.isLowest || row.standing.attempts > 0
        taken += 1
        answer.leases.append(self.lease(at: index, isReplay: isReplay, time))
        if request.target.isLowest { self.leaseFollowers(of: index, request, &answer, time) }
      }
    }
    if answer.expired > 0 { self.resolveAliasWaits(time) }
    // One that got as many as it asked for, of which a batch is one, asks again when one of them has ended.
    if taken == 0 || taken < request.limit {
      answer.nextDue = self.nextDue(request, at: time)
    }
    return answer
  }

  /// The index of the first row that may run now, and whose host has a slot.
  private func next(
    _ request: ClaimRequest,
    _ slots: HostSlots,
    at time: OutboxTime
  ) -> (candidate: Int, turns: ClaimTurns)? {
    let heads = self.heads
    let candidates = self.rows.indices.filter { index in
      let row = self.rows[index]
      return self.mayRun(row, isHead: heads.contains(row.entry.number), at: time)
        && request.means(row.entry) && slots[row.entry.effectiveHost] > 0
        && (request.target.isLowest || !self.hostHoldsCallers(of: row, at: time))
    }
    return self.turns.next(of: candidates) { index in
      let row = self.rows[index]
      return ClaimOrder(
        number: Int64(row.entry.number), isRepeat: row.standing.isRepeat,
        dueBoottime: row.standing.dueBoottime(time), priority: row.entry.priority,
        host: row.entry.effectiveHost, slots)
    }
  }

  /// Leases the rows right behind the leased head of a lane that go with it in one call.
  private mutating func leaseFollowers(
    of head: Int, _ request: ClaimRequest, _ answer: inout ClaimAnswer, _ time: OutboxTime
  ) {
    let first = self.rows[head]
    var left = request.followers(of: first.entry)
    guard left > 0, first.standing.mayGoWithOthers,
      self.hosts[first.entry.effectiveHost]?.room(at: time) ?? .any == .any
    else { return }
    for index in self.rows.indices[(head + 1)...] {
      let row = self.rows[index]
      guard row.entry.lane == first.entry.lane, row.holdsLane else { continue }
      guard left > 0, row.entry.goes(with: first.entry), request.means(row.entry),
        row.standing.mayGoWithOthers, !row.isTooOld(at: time),
        self.mayRun(row, isHead: true, at: time)
      else { return }
      left -= 1
      answer.leases.append(self.lease(at: index, isReplay: true, time))
    }
  }

  /// How long until a row that is first in its lane, and waits for nothing else, becomes due.
  private func nextDue(_ request: ClaimRequest, at time: OutboxTime) -> Duration? {
    guard self.pauses[.everything] == nil else { return nil }
    let heads = self.heads
    var earliest: Duration?
    for row in self.rows where row.dependencies.isEmpty && request.means(row.entry) {
      guard heads.contains(row.entry.number),
        !self.pauses.hold(lane: row.entry.lane, name: row.entry.name)
      else { continue }
      var remaining = row.standing.remaining(time) ?? 0
      if self.mayRun(row, isHead: true, at: time),
        let host = self.hosts[row.entry.effectiveHost]
      {
        switch host.room(at: time) {
        case .any: break
        case .none: remaining = host.remaining(time) ?? 0
        case .probe: remaining = self.probeLeft(host, at: time)?.microseconds ?? 0
        }
      }
      guard remaining > 0 else { continue }
      earliest = min(earliest ?? .microseconds(remaining), .microseconds(remaining))
    }
    return earliest
  }

  /// The owner of its leases.
  static let owner = "this process"

  /// Begins an attempt.
  mutating func lease(at index: Int, isReplay: Bool, _ time: OutboxTime) -> MutationLease {
    self.rows[index].standing.begin(
      OutboxStanding.Lease(
        owner: Self.owner, endMonotonic: .max, bootID: time.bootID,
        startedMonotonic: Int64(time.monotonic), startedAt: time.wall.microsecondsSince1970),
      credentialsEpoch: self.credentialsEpoch)
    let row = self.rows[index]
    let host = row.entry.effectiveHost
    if let standing = self.hosts[host], standing.room(at: time) == .probe,
      self.probeLeft(standing, at: time) == nil
    {
      self.hosts[host]?.probe = Int64(row.entry.number)
    }
    let attempt = OutboxAttempt(number: row.standing.attempts, startedAt: time.wall)
    self.attempts[row.entry.id] = (self.attempts[row.entry.id] ?? []).suffix(19) + [attempt]
    let lease = MutationLease(
      entry: self.entry(of: row, isHead: true, at: time), isReplay: isReplay,
      token: Int(row.standing.token), epoch: self.epoch,
      earlier: row.standing.earlierAttempts(
        time, synchronisedAt: nil, doesHostAnswer: self.hosts[host]?.reason != .unreachable))
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
    // By number: an identifier may be used again once the history has forgotten it, a number never is.
    guard lease.epoch == self.epoch, let index = self.index(of: id),
      self.rows[index].entry.number == lease.entry.number,
      self.rows[index].standing.isLeased(by: Self.owner, token: lease.token)
    else { return false }
    self.rows[index].lease = nil
    self.note(outcome.hostReport, of: self.rows[index], at: time)
    self.endAttempt(of: id, outcome, time)
    var prospect = OutboxStanding.AliasProspect.published
    if case .failed(let failure) = outcome, let alias = failure.next.awaitedAlias {
      prospect = self.prospect(of: alias, at: index)
    }
    let sequel = self.rows[index].standing.settle(
      outcome, prospect, credentialsEpoch: self.credentialsEpoch, at: time)
    switch outcome {
    case .succeeded(let success):
      self.publish(success.aliases, time)
      self.end(at: index, .succeeded, result: success.result, time)
    case .failed(let failure):
      if sequel == .pending, case .retry(let arguments, let key, _) = failure.next {
        self.replaceKey(
          at: index, by: key, arguments: arguments, version: failure.version,
          editedPaths: failure.editedPaths)
      }
      self.follow(sequel, at: index, time)
    case .cancelled: self.follow(sequel, at: index, time)
    }
    if self.index(of: id) == nil { self.prune(at: time) }
    self.resolveAliasWaits(time)
    return true
  }

  /// Stores what is not published yet.
  private mutating func publish(_ aliases: [String: String], _ time: OutboxTime) {
    for (alias, value) in aliases where self.aliases[alias] == nil {
      self.aliases[alias] = OutboxAlias(
        value: value, publishedAt: time.wall, newestNumber: self.lastNumber)
    }
  }

  /// Ends the record of the attempt that runs.
  private mutating func endAttempt(of id: UUID, _ outcome: AttemptOutcome, _ time: OutboxTime) {
    guard var attempt = self.attempts[id]?.popLast() else { return }
    attempt.endedAt = time.wall
    switch outcome {
    case .succeeded(let success): (attempt.outcome, attempt.error) = ("succeeded", success.warning)
    case .cancelled: attempt.outcome = "cancelled"
    case .failed(let failure):
      (attempt.outcome, attempt.code, attempt.error) = (
        failure.outcome, failure.code, failure.error
      )
      attempt.response = failure.response
    }
    self.attempts[id]?.append(attempt)
  }
}
