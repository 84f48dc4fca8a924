import FoundationEssentials

/// The packs of a ``MemoryQueryStorage``: what a storage on disk does in tables.
struct PackTable: Sendable {
  enum State: Sendable {
    case waiting
    case done
    case failed
    case unregistered
  }

  struct Member: Sendable {
    let member: NewPack.Member
    var state = State.waiting
    var bytes = 0
    var doneAt: Date?
    var begunAt: Date?
    var claimedAt: Date?
    var isClaimed = false
    var error: String?

    init(_ member: NewPack.Member) { self.member = member }
  }

  struct Pack: Sendable {
    var stored: StoredPack
    var order: [QueryIdentity]
    var members: [QueryIdentity: Member]
  }

  private(set) var packs = [String: Pack]()

  /// How many bytes an entry with a value has; nil: there is none.
  typealias Entries = (QueryIdentity) -> Int?
}

// MARK: - Lists

extension PackTable {
  mutating func keep(_ new: NewPack, limit: Int) throws(PackError) -> StoredPack {
    let old = self.packs[new.name]
    var pack = Pack(
      stored: StoredPack(
        id: old?.stored.id ?? UUID(), name: new.name,
        createdAt: old?.stored.createdAt ?? new.createdAt, endsAt: new.endsAt,
        refreshEvery: new.refreshEvery, network: new.network),
      order: new.members.map(\.identity), members: [:])
    for member in new.members {
      var kept = Member(member)
      if let known = old?.members[member.identity] {
        kept.bytes = known.bytes
        (kept.begunAt, kept.claimedAt) = (known.begunAt, known.claimedAt)
        kept.isClaimed = known.isClaimed
        kept.doneAt = known.doneAt
        if known.state == .done, known.member.pages == member.pages { kept.state = .done }
      }
      pack.members[member.identity] = kept
    }
    var others = Set(pack.order)
    for (name, other) in self.packs where name != new.name { others.formUnion(other.order) }
    if others.count > limit {
      throw .tooManyMembers(pack: new.name, members: others.count, limit: limit)
    }
    self.packs[new.name] = pack
    return pack.counted
  }

  mutating func remove(_ name: String) -> Bool { self.packs.removeValue(forKey: name) != nil }

  mutating func remove(_ id: UUID, ifEndedBy date: Date?) -> Bool {
    guard let stored = self.packs.values.first(where: { $0.stored.id == id })?.stored,
      date.map({ stored.hasEnded(by: $0) }) ?? true
    else { return false }
    return self.remove(stored.name)
  }

  mutating func removeAll() { self.packs = [:] }

  var all: [StoredPack] { self.packs.values.map(\.counted).sorted { $0.name < $1.name } }

  mutating func renew(_ id: UUID, _ entries: Entries) -> StoredPack? {
    self.edit(id) { pack in
      for identity in pack.order {
        pack.members[identity]?.renew(hasEntry: entries(identity) != nil)
      }
      return pack.counted
    }
  }

  /// Lets packs fetch anew what has no entry any more.
  ///
  /// - Returns: Whether one has it.
  mutating func lose(_ identity: QueryIdentity) -> Bool {
    var isLost = false
    for (name, pack) in self.packs where pack.members[identity]?.state == .done {
      self.packs[name]?.members[identity]?.renew(hasEntry: false)
      isLost = true
    }
    return isLost
  }

  private mutating func edit<R>(_ id: UUID, _ body: (inout Pack) -> R) -> R? {
    guard let name = self.packs.first(where: { $0.value.stored.id == id })?.key,
      var pack = self.packs[name]
    else { return nil }
    defer { self.packs[name] = pack }
    return body(&pack)
  }

  /// How many bytes all packs have, each query once.
  private var used: Int {
    var bytes = [QueryIdentity: Int]()
    for pack in self.packs.values {
      for (identity, member) in pack.members {
        bytes[identity] = max(bytes[identity] ?? 0, member.bytes)
      }
    }
    return bytes.values.reduce(0, +)
  }
}

extension PackTable.Member {
  fileprivate mutating func renew(hasEntry: Bool) {
    switch self.state {
    case .failed, .unregistered:
      self.state = .waiting
      self.error = nil
    case .done where !hasEntry:
      (self.state, self.bytes, self.doneAt, self.begunAt) = (.waiting, 0, nil, nil)
    case .done where self.error != nil:
      (self.doneAt, self.error) = (.distantPast, nil)
    case .done, .waiting: break
    }
  }
}

extension PackTable.Pack {
  fileprivate var counted: StoredPack {
    var stored = self.stored
    stored.counts = StoredPack.Counts()
    for identity in self.order {
      guard let member = self.members[identity] else { continue }
      stored.counts.bytes += member.bytes
      if member.isClaimed { stored.counts.claimed += 1 }
      switch member.state {
      case .waiting: stored.counts.waiting += 1
      case .failed:
        stored.counts.failed += 1
        stored.failure = stored.failure ?? member.error
      case .unregistered: stored.counts.unregistered += 1
      case .done:
        stored.counts.done += 1
        if let date = member.doneAt {
          stored.counts.oldest = min(stored.counts.oldest ?? date, date)
        }
      }
    }
    return stored
  }
}

// MARK: - Claims

extension PackTable {
  mutating func claim(_ request: PackClaimRequest, limit: Int) -> PackClaim? {
    let used = self.used
    return self.edit(request.id) { pack in
      pack.freeOldClaims(at: request.now)
      var standing = PackStanding(
        pack: pack.counted, room: PackRoom(used: used, limit: limit))
      let count = standing.room.allowance(request.count, for: standing.pack.counts)
      let members = pack.free(request, atMost: count).compactMap { pack.claim($0, at: request.now) }
      standing.pack.counts.claimed += members.count
      return PackClaim(standing: standing, members: members)
    }
  }

  mutating func settle(
    _ results: [PackResult], of id: UUID, at now: Date, limit: Int, _ entries: Entries
  ) -> PackStanding? {
    var missing = [QueryIdentity]()
    let pack = self.edit(id) { pack in
      for result in results {
        let isMissing = pack.members[result.identity]?
          .settle(result, at: now, bytes: entries(result.identity))
        if isMissing == true { missing.append(result.identity) }
      }
      return pack.counted
    }
    return pack.map {
      var standing = PackStanding(pack: $0, room: PackRoom(used: self.used, limit: limit))
      standing.missing = missing
      return standing
    }
  }
}

extension PackTable.Pack {
  fileprivate mutating func freeOldClaims(at now: Date) {
    let length = PackClaimRequest.claimDuration / .seconds(1)
    for (identity, member) in self.members where member.isClaimed {
      let age = now.timeIntervalSince(member.claimedAt ?? .distantPast)
      if abs(age) > length { self.members[identity]?.isClaimed = false }
    }
  }

  fileprivate func free(_ request: PackClaimRequest, atMost count: Int) -> [QueryIdentity] {
    func free(_ count: Int, _ isWanted: (PackTable.Member) -> Bool) -> [QueryIdentity] {
      let found = self.order.filter { identity in
        self.members[identity].map { !$0.isClaimed && isWanted($0) } ?? false
      }
      return Array(found.prefix(count))
    }
    var found = free(count) {
      $0.state == .waiting || request.includesUnregistered && $0.state == .unregistered
    }
    if let period = self.stored.refreshEvery {
      let due = request.now.addingTimeInterval(-(period / .seconds(1)))
      found += free(request.count - found.count) { member in
        member.state == .done && (member.doneAt.map { $0 <= due } ?? false)
      }
    }
    return found
  }

  fileprivate mutating func claim(_ identity: QueryIdentity, at now: Date) -> PackClaim.Member? {
    guard var member = self.members[identity] else { return nil }
    let before = member.begunAt
    (member.isClaimed, member.claimedAt, member.begunAt) = (true, now, before ?? now)
    self.members[identity] = member
    return PackClaim.Member(
      identity: identity, request: member.member.request, pages: member.member.pages,
      begunAt: before, isRefresh: member.state == .done)
  }
}

extension PackTable.Member {
  /// - Returns: Whether it is released since its value is not there.
  fileprivate mutating func settle(_ result: PackResult, at now: Date, bytes: Int?) -> Bool {
    let outcome = result.outcome(ifListHas: self.member.pages)
    if case .underWay = outcome {
      (self.bytes, self.claimedAt) = (bytes ?? 0, now)
      return false
    }
    (self.isClaimed, self.claimedAt, self.error) = (false, nil, nil)
    switch outcome {
    case .fetched:
      self.bytes = bytes ?? 0
      if bytes != nil {
        (self.state, self.doneAt) = (.done, now)
      } else if result.isReleasedIfMissing {
        self.state = .waiting
        return true
      } else {
        (self.state, self.error) = (.failed, PackResult.notStored)
      }
    case .failed(let text):
      self.error = text
      // Of one that is there the value stays, and it is tried again with the next refresh.
      if self.state == .done { self.doneAt = now } else { self.state = .failed }
    case .unregistered:
      if self.state == .done { self.doneAt = now } else { self.state = .unregistered }
    case .released: if self.state != .done { self.state = .waiting }
    case .underWay: break
    }
    if self.state == .done { self.begunAt = nil }
    return false
  }
}
