import FoundationEssentials
import Query

// MARK: - Claiming

extension OutboxTransaction {
  /// How many rows one claim makes due, and how many expired ones it declares dead: then it is a partial
  /// one.
  private static let batch = 200

  /// Leases rows that may run now, after taking back those of processes that have exited.
  ///
  /// - Throws: `StorageError`.
  mutating func claim(_ request: ClaimRequest) throws -> ClaimAnswer {
    var answer = ClaimAnswer(expired: self.expired)
    self.expired = 0
    if case .lowest(let handlers) = request.target { self.handlers = handlers }
    try self.loadHosts()
    let nextLeaseEnd = try self.reap()
    if self.pauses[.everything] == nil {
      let isAllDue = try self.promoteDue()
      switch request.target {
      case .mutation(let id): if request.limit > 0 { try self.claim(id, &answer) }
      case .lowest(let all):
        let handlers = all.filter { self.pauses[.name($0.name)] == nil }
        if let lane = request.lane {
          try self.claim(lane: lane, handlers, request, &answer)
        } else {
          let isFull = try self.claimLowest(handlers, request, &answer)
          // It asks again when one of them has ended.
          if !isFull {
            answer.nextDue = [answer.nextDue, try self.nextDue(handlers)].compactMap(\.self).min()
            try self.noteHolds(handlers, &answer)
          }
        }
      }
      answer.isPartial = !isAllDue || answer.expired >= Self.batch
    }
    if let nextLeaseEnd { answer.nextDue = min(answer.nextDue ?? nextLeaseEnd, nextLeaseEnd) }
    return answer
  }

  private mutating func claim(_ id: UUID, _ answer: inout ClaimAnswer) throws {
    guard var row = try self.row(id), !self.pauses.hold(lane: row.lane, name: row.name) else {
      return
    }
    if row.isHead, !row.hasDependencies, let remaining = row.standing.remaining(self.now),
      remaining > 0
    {
      answer.nextDue = .microseconds(remaining)
    }
    guard self.mayRun(row), self.mayRunBesideOthers(row.standing),
      !self.hostHoldsCallers(row.effectiveHost)
    else { return }
    let lease = try self.lease(&row, isReplay: row.standing.attempts > 0)
    if let lease { answer.leases.append(lease) }
    if row.standing.deadReason == .expired { answer.expired += 1 }
  }

  /// Marks heads as due that were never tried and whose time has come, so that one seek finds the lowest
  /// number of them.
  ///
  /// - Returns: Whether those were all.
  private func promoteDue() throws -> Bool {
    let numbers = try self.connection.rows(LaneHeadRow.findDue, self.now.boottime, Self.batch) {
      try $0.integer(at: 0)
    }
    for number in numbers { try self.connection.execute(LaneHeadRow.setDue, 0, number) }
    return numbers.count < Self.batch
  }

  /// - Returns: Whether it got as many as it asked for, of which a batch is one.
  private mutating func claimLowest(
    _ handlers: Set<MutationHandler>,
    _ request: ClaimRequest,
    _ answer: inout ClaimAnswer
  ) throws -> Bool {
    var slots = request.hostSlots
    try self.limit(&slots)
    for case .host(let host) in self.pauses.keys { slots[host] = 0 }
    var groups = try self.groups(of: handlers)
    var taken = 0
    while taken < request.limit {
      groups.removeAll { slots[$0.host] <= 0 }
      let candidates = groups.indices.flatMap { index in
        groups[index].candidates(slots).map { (index: index, candidate: $0) }
      }
      guard let next = self.partition.turns.next(of: candidates, by: { $0.candidate.order }) else {
        return false
      }
      let (index, candidate) = next.candidate
      let (group, number) = (groups[index], candidate.number)
      guard var row = try self.row(number), self.isHead(row, of: group), self.mayRun(row) else {
        // In a damaged file, the head disagrees with its row: it is rebuilt.
        try self.repairHead(number)
        try self.advance(&groups[index], candidate.isRepeat)
        continue
      }
      // This row is next, once the running ones have ended.
      if let wait = self.waitToRunBesideOthers(row.standing) {
        answer.nextDue = wait
        return false
      }
      if let lease = try self.lease(&row, isReplay: true) {
        taken += 1
        answer.leases.append(lease)
        try self.leaseFollowers(of: row, request, &answer)
        self.partition.turns = next.turns
        if taken == request.limit { return true }
        slots.take(row.effectiveHost, isRepeat: candidate.isRepeat)
        try self.advance(&groups[index], candidate.isRepeat)
        continue
      }
      if row.standing.deadReason == .expired { answer.expired += 1 }
      if answer.expired >= Self.batch { return false }
      // Its lane may have another head now, of any group.
      groups = try self.groups(of: handlers)
    }
    return false
  }

  /// Notes when the hosts that due rows wait for may be sent to again.
  private func noteHolds(_ handlers: Set<MutationHandler>, _ answer: inout ClaimAnswer) throws {
    guard self.hosts?.values.contains(where: { $0.room(at: self.now) != .any }) == true else {
      return
    }
    for group in try self.groups(of: handlers) {
      guard self.pauses[.host(group.host)] == nil, let hold = try self.hold(ofHost: group.host)
      else { continue }
      answer.nextDue = min(answer.nextDue ?? hold, hold)
    }
  }

  /// Leases the head of a lane: no other row of it may run.
  private mutating func claim(
    lane: String,
    _ handlers: Set<MutationHandler>,
    _ request: ClaimRequest,
    _ answer: inout ClaimAnswer
  ) throws {
    var slots = request.hostSlots
    try self.limit(&slots)
    var repaired: Int64?
    while answer.expired < Self.batch, let number = try self.firstNumber(inLane: lane) {
      guard var row = try self.row(number), row.isHead, row.partition == self.partition.id,
        row.lane == lane
      else {
        // In a damaged file, the head disagrees with its row: it is rebuilt, once.
        if repaired == number { return }
        repaired = number
        try self.repairHead(number)
        continue
      }
      let entry = row.entry(self.view)
      guard handlers.contains(where: { $0.canRun(entry) }) else { return }
      if self.pauses.hold(lane: lane, name: row.name) { return }
      guard self.mayRun(row) else {
        answer.nextDue = self.untilDue(row)
        return
      }
      guard request.limit > 0, slots[row.effectiveHost] > 0,
        self.mayRunBesideOthers(row.standing)
      else {
        answer.nextDue =
          try self.waitToRunBesideOthers(row.standing) ?? self.hold(ofHost: row.effectiveHost)
        return
      }
      if let lease = try self.lease(&row, isReplay: true) {
        answer.leases.append(lease)
        try self.leaseFollowers(of: row, request, &answer)
        return
      }
      if row.standing.deadReason == .expired { answer.expired += 1 }
    }
  }

  /// How long until the head of a lane may run, if it waits only for a time.
  private func untilDue(_ row: OutboxRow) -> Duration? {
    guard LaneHeadRow(row, self.now, isPaused: false).state == .ready,
      let remaining = row.standing.remaining(self.now), remaining > 0
    else { return nil }
    return .microseconds(remaining)
  }

  private func firstNumber(inLane lane: String) throws -> Int64? {
    try self.connection.first(LaneHeadRow.readOfLane, self.partition.id, lane) {
      try $0.integer(at: 0)
    }
  }

  /// Whether a row agrees with its head. Handler and account come from the row's own columns, which
  /// its checksum covers.
  private func isHead(_ row: OutboxRow, of group: Group) -> Bool {
    row.isHead && row.partition == self.partition.id && row.name == group.handler.name
      && row.instance == group.handler.instance && Int64(row.version) == group.version
      && row.effectiveHost == group.host && Int64(row.priority.rawValue) == group.priority
  }

  private mutating func repairHead(_ number: Int64) throws {
    let lane = try self.connection.first(LaneHeadRow.readLane, number) {
      try $0.optionalText(at: 0)
    }
    try self.connection.execute(LaneHeadRow.delete, number)
    // The lane behind it must not be left without a head.
    if case let lane?? = lane { try self.findHead(of: lane) }
    guard var row = try self.row(number) else { return }
    try self.refreshHead(&row)
  }

  /// Leases a row to this process, unless it is too old or damaged: then it is dead.
  ///
  /// - Throws: `StorageError`.
  mutating func lease(_ row: inout OutboxRow, isReplay: Bool) throws -> MutationLease? {
    guard let owner = self.terms.owner else { return nil }
    guard row.isSound else {
      try self.kill(&row, .undecodable)
      return nil
    }
    if self.isTooOld(row) {
      try self.kill(&row, .expired)
      return nil
    }
    try self.noteProbe(row)
    try self.update(&row, to: self.leased(row.standing, by: owner))
    return self.beginAttempt(of: row, isReplay: isReplay)
  }

  /// Whether a row may run beside the rows that this process runs.
  func mayRunBesideOthers(_ standing: OutboxStanding) -> Bool {
    self.waitToRunBesideOthers(standing) == nil
  }

  /// How long a row must not run beside the rows that this process runs; nil: it may. A suspect row runs
  /// alone, but for attempts that have run so long that a crash is not theirs.
  private func waitToRunBesideOthers(_ standing: OutboxStanding) -> Duration? {
    var longest: Duration?
    func note(_ other: OutboxStanding) {
      guard standing.isSuspect || other.isSuspect, let lease = other.lease,
        let left = lease.untilLong(at: self.now, length: self.terms.leaseLength)
      else { return }
      longest = max(longest ?? left, left)
    }
    for (number, held) in self.terms.leases where !self.outcome.endedLeases.contains(number) {
      note(held.leased.row.standing)
    }
    for leased in self.outcome.leases.values { note(leased.row.standing) }
    return longest
  }

  /// The standing of a row that this process runs.
  func leased(_ standing: OutboxStanding, by owner: String) -> OutboxStanding {
    var standing = standing
    let end = Int64(self.now.monotonic).clampedSum(self.terms.leaseLength.microseconds)
    standing.begin(
      OutboxStanding.Lease(
        owner: owner, endMonotonic: end, bootID: self.now.bootID,
        startedMonotonic: Int64(self.now.monotonic), startedAt: self.nowAt),
      credentialsEpoch: self.partition.credentialsEpoch)
    return standing
  }

  /// Makes the lease of a leased row, with its attempt.
  mutating func beginAttempt(of row: OutboxRow, isReplay: Bool) -> MutationLease {
    let lease = MutationLease(
      entry: row.entry(self.view), isReplay: isReplay, token: Int(row.standing.token),
      epoch: Int(self.partition.epoch),
      earlier: row.standing.earlierAttempts(
        self.now, synchronisedAt: self.terms.synchronisedAt,
        doesHostAnswer: self.standing(ofHost: row.effectiveHost)?.reason != .unreachable))
    self.outcome.leases[row.number] = LeasedRow(lease: lease, row: row)
    self.outcome.endedLeases.remove(row.number)
    self.memory.leases.insert(row.number)
    self.tell(.claimed(row.id))
    return lease
  }

  func isTooOld(_ row: OutboxRow) -> Bool {
    guard let maxAge = row.maxAge else { return false }
    return row.age.elapsed(self.now, synchronisedAt: self.terms.synchronisedAt) > maxAge
  }
}

// MARK: - Seeking

extension OutboxTransaction {
  /// Due heads of one handler, version, host and priority.
  struct Group {
    let handler: MutationHandler
    let version: Int64
    let host: String
    let priority: Int64
    /// The lowest number of those that were never tried, and that this claim has not looked at.
    var firstTry: Int64?
    /// The first of those that were tried.
    var repeated: (due: Int64, number: Int64)?

    /// The heads that go first, of those that were never tried and of the others.
    func candidates(_ slots: HostSlots) -> [Candidate] {
      let first = self.firstTry.map {
        Candidate(
          number: $0, isRepeat: false,
          order: ClaimOrder(
            number: $0, isRepeat: false, dueBoottime: 0,
            priority: MutationPriority(nearest: self.priority), host: self.host, slots))
      }
      let repeated = self.repeated.map {
        Candidate(
          number: $0.number, isRepeat: true,
          order: ClaimOrder(
            number: $0.number, isRepeat: true, dueBoottime: $0.due,
            priority: MutationPriority(nearest: self.priority), host: self.host, slots))
      }
      return [first, repeated].compactMap(\.self)
    }
  }

  /// The first head of a group.
  private struct FirstHead {
    let version: Int64
    let host: String
    let priority: Int64
    let isRepeat: Bool
    let due: Int64
    let number: Int64
  }

  /// A head that a claim may take.
  struct Candidate {
    let number: Int64
    let isRepeat: Bool
    let order: ClaimOrder
  }

  /// Two seeks for each handler, version, host and priority that has a head, and one more.
  func groups(of handlers: Set<MutationHandler>) throws -> [Group] {
    var groups = [Group]()
    try self.forEachGroup(of: handlers) { handler, group in
      var found = Group(
        handler: handler, version: group.version, host: group.host, priority: group.priority)
      if !group.isRepeat {
        if group.due == 0 { found.firstTry = group.number }
        try self.advance(&found, true)
      } else if group.due <= self.now.boottime {
        found.repeated = (group.due, group.number)
      }
      if found.firstTry != nil || found.repeated != nil { groups.append(found) }
    }
    return groups
  }

  /// Finds the first head of each handler, version, host and priority that has one.
  private func forEachGroup(
    of handlers: Set<MutationHandler>, _ body: (MutationHandler, FirstHead) throws -> Void
  ) throws {
    for handler in handlers {
      var last = handler.firstVersion
      // Sorts after any text.
      var (lastHost, lastPriority): (any SQLiteBindable, Int64) = (Data(), 0)
      while let group = try self.nextGroup(of: handler, after: last, lastHost, lastPriority) {
        (last, lastHost, lastPriority) = (group.version, group.host, group.priority)
        try body(handler, group)
      }
    }
  }

  private func nextGroup(
    of handler: MutationHandler,
    after version: Int64,
    _ host: any SQLiteBindable,
    _ priority: Int64
  ) throws -> FirstHead? {
    try self.connection.withStatement(LaneHeadRow.nextGroup) { row in
      try row.bind(self.partition.id, at: 1)
      try row.bind(handler.name, at: 2)
      try row.bind(handler.instance, at: 3)
      try row.bind(version, at: 4)
      try host.bind(to: row, at: 5)
      try row.bind(priority, at: 6)
      try row.bind(Int64(handler.version), at: 7)
      guard try row.step() else { return nil }
      return FirstHead(
        version: try row.integer(at: 0), host: try row.text(at: 1),
        priority: try row.integer(at: 2),
        isRepeat: try row.bool(at: 3), due: try row.integer(at: 4), number: try row.integer(at: 5))
    }
  }

  /// Moves on to the next head of a group that was tried before, or to the next that never was.
  func advance(_ group: inout Group, _ isRepeat: Bool) throws {
    let (partition, handler) = (self.partition.id, group.handler)
    if isRepeat {
      let last = group.repeated ?? (due: -1, number: 0)
      group.repeated = try self.connection.first(
        LaneHeadRow.nextRepeat, partition, handler.name, handler.instance, group.version,
        group.host, group.priority, last.due, last.number, self.now.boottime
      ) { (due: try $0.integer(at: 0), number: try $0.integer(at: 1)) }
    } else {
      group.firstTry = try self.connection.first(
        LaneHeadRow.nextFirstTry, partition, handler.name, handler.instance, group.version,
        group.host, group.priority, group.firstTry ?? 0
      ) { try $0.integer(at: 0) }
    }
  }

  /// How long until the first waiting head becomes due. Three seeks for each group.
  func nextDue(_ handlers: Set<MutationHandler>) throws -> Duration? {
    var first: Int64?
    try self.forEachGroup(of: handlers) { handler, group in
      for isRepeat in [false, true] {
        let due = try self.connection.first(
          LaneHeadRow.firstWaiting, self.partition.id, handler.name, handler.instance,
          group.version, group.host, group.priority, isRepeat, self.now.boottime
        ) { try $0.integer(at: 0) }
        if let due { first = min(first ?? due, due) }
      }
    }
    return first.map { .microseconds(max($0.clampedDifference(Int64(self.now.boottime)), 0)) }
  }
}

extension MutationHandler {
  /// The version before the first one that it can run.
  fileprivate var firstVersion: Int64 {
    self.upgradesOlder ? .min : Int64(self.version).clampedDifference(1)
  }
}
