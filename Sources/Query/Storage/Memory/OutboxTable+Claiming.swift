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
