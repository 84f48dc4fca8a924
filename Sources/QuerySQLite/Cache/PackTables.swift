import Foundation
package import Query

/// The packs of one account in `cache.sqlite`. Each function runs a few statements in its caller's
/// transaction.
package struct PackTables {
  let connection: SQLiteConnection
  let partition: Int64

  package init(partition: Int64, on connection: SQLiteConnection) {
    (self.partition, self.connection) = (partition, connection)
  }
}

// MARK: - Reading

extension PackTables {
  /// All packs, by their names.
  ///
  /// - Throws: `StorageError`.
  package func packs() throws -> [StoredPack] {
    try self.connection.rows(PackRow.readAll, self.partition) { try PackRow($0) }
      .map { try self.counted($0) }
  }

  private func row(_ id: UUID) throws -> PackRow? {
    try self.connection.first(PackRow.readSame, self.partition, id) { try PackRow($0) }
  }

  /// A pack with its counts.
  private func counted(_ row: PackRow) throws -> StoredPack {
    var counts = StoredPack.Counts()
    try self.connection.withStatement(PackMemberRow.count) { statement in
      try statement.bindAll(row.id)
      while try statement.step() {
        let number = Int(clamping: try statement.integer(at: 1))
        switch PackMemberRow.State(rawValue: try statement.integer(at: 0)) {
        case .waiting, nil: counts.waiting += number
        case .done:
          counts.done += number
          counts.oldest = try statement.optionalInteger(at: 4)
            .map { Date(microsecondsSince1970: $0) }
        case .failed: counts.failed += number
        case .unregistered: counts.unregistered += number
        }
        counts.bytes += Int(clamping: Int64(exactly: try statement.real(at: 2).rounded()) ?? .max)
        counts.claimed += Int(clamping: try statement.integer(at: 3))
      }
    }
    var pack = row.pack
    pack.counts = counts
    if counts.failed > 0 {
      let error = try self.connection.first(PackMemberRow.readError, row.id) {
        try $0.optionalText(at: 0)
      }
      pack.failure = error.flatMap { $0 }
    }
    return pack
  }

  private func standing(_ row: PackRow, _ limits: PackLimits) throws -> PackStanding {
    let used = try self.connection.first(PackMemberRow.countAll, self.partition) {
      Int(clamping: Int64(exactly: try $0.real(at: 1).rounded()) ?? .max)
    }
    return PackStanding(
      pack: try self.counted(row), room: PackRoom(used: used ?? 0, limit: limits.bytes))
  }
}

// MARK: - Lists

extension PackTables {
  /// Keeps a list, in a write transaction.
  ///
  /// - Throws: `PackError`, `StorageError`.
  func keep(_ new: NewPack, limits: PackLimits) throws -> StoredPack {
    var found = try self.connection.first(PackRow.read, self.partition, new.name) {
      try PackRow($0)
    }
    if found == nil {
      try self.connection.execute(
        PackRow.insert, self.partition, UUID(), new.createdAt.microsecondsSince1970,
        new.endsAt?.microsecondsSince1970, new.refreshEvery?.microseconds, new.network.rawValue,
        new.name)
      found = try self.connection.first(PackRow.read, self.partition, new.name) { try PackRow($0) }
    }
    guard let row = found else { throw self.missing }
    let generation = row.generation &+ 1
    try self.connection.execute(
      PackRow.update, generation, new.endsAt?.microsecondsSince1970, new.refreshEvery?.microseconds,
      new.network.rawValue, row.id)
    for member in new.members {
      try self.connection.execute(
        PackMemberRow.keep, row.id, self.partition, generation,
        XXH128(hashing: member.identity.text), (member.pages?.number).map { Int64($0) },
        member.identity.text, member.request?.name, member.request?.data)
    }
    try self.connection.execute(PackMemberRow.leave, row.id, generation)
    let members = try self.connection.first(PackMemberRow.countAll, self.partition) {
      Int(clamping: try $0.integer(at: 0))
    }
    // Thrown inside the transaction, which is rolled back.
    if let members, members > limits.entries {
      throw PackError.tooManyMembers(pack: new.name, members: members, limit: limits.entries)
    }
    guard let kept = try self.row(row.pack.id) else { throw self.missing }
    return try self.counted(kept)
  }

  private var missing: StorageError {
    StorageError(
      operation: "keep a pack", code: .corrupt, message: "the row of the pack is missing",
      fileName: self.connection.fileName)
  }

  /// Removes a pack, in a write transaction.
  ///
  /// - Returns: Whether there was one.
  /// - Throws: `StorageError`.
  package func remove(_ name: String) throws -> Bool {
    let name = name.canonicallyComposed
    let found = try self.connection.first(PackRow.read, self.partition, name) { try PackRow($0) }
    guard let found else { return false }
    try self.connection.execute(PackRow.delete, found.id)
    return true
  }

  /// Removes a pack by its id, in a write transaction.
  ///
  /// - Parameter date: Its end must have come by then; nil: it is removed in any case.
  /// - Returns: Whether it was removed.
  /// - Throws: `StorageError`.
  func remove(_ id: UUID, ifEndedBy date: Date?) throws -> Bool {
    guard let row = try self.row(id), date.map({ row.pack.hasEnded(by: $0) }) ?? true else {
      return false
    }
    try self.connection.execute(PackRow.delete, row.id)
    return true
  }

  /// Lets everything be tried again, in a write transaction.
  ///
  /// - Throws: `StorageError`.
  func renew(_ id: UUID) throws -> StoredPack? {
    guard let row = try self.row(id) else { return nil }
    try self.connection.execute(PackMemberRow.retryFailed, row.id)
    try self.connection.execute(PackMemberRow.retryRefreshes, row.id)
    try self.connection.execute(PackMemberRow.retryLost, row.id)
    return try self.counted(row)
  }
}

// MARK: - Claims

extension PackTables {
  /// Claims members, in a write transaction.
  ///
  /// - Parameters:
  ///   - owner: The name of this process's owner file.
  ///   - isGone: Whether another owner has died.
  /// - Throws: `StorageError`.
  func claim(
    _ request: PackClaimRequest, for owner: String, limits: PackLimits,
    isGone: (String) -> Bool
  ) throws -> (PackClaim?, hasChanged: Bool) {
    guard let row = try self.row(request.id) else { return (nil, false) }
    let hasFreed = try self.freeClaims(of: row, besides: owner, at: request.now, isGone)
    var standing = try self.standing(row, limits)
    let count = standing.room.allowance(request.count, for: standing.pack.counts)
    let members = try self.free(of: row, request, atMost: count)
    if members.isEmpty { return (PackClaim(standing: standing, members: []), hasFreed) }
    for member in members {
      try self.connection.execute(
        PackMemberRow.claim, owner, request.now.microsecondsSince1970, member.id)
    }
    standing.pack.counts.claimed += members.count
    return (PackClaim(standing: standing, members: members.map(\.member)), true)
  }

  private func freeClaims(
    of row: PackRow, besides owner: String, at now: Date, _ isGone: (String) -> Bool
  ) throws -> Bool {
    let owners = try self.connection.rows(PackMemberRow.readOwners, row.id) { try $0.text(at: 0) }
    if owners.isEmpty { return false }
    var freed = 0
    for other in owners where other != owner && isGone(other) {
      try self.connection.execute(PackMemberRow.free, row.id, other)
      freed += try self.connection.changes
    }
    let (date, length) = (now.microsecondsSince1970, PackClaimRequest.claimDuration.microseconds)
    try self.connection.execute(
      PackMemberRow.freeOld, row.id, date.clampedDifference(length), date.clampedSum(length))
    return try freed + self.connection.changes > 0
  }

  private func free(
    of row: PackRow, _ request: PackClaimRequest, atMost count: Int
  ) throws -> [PackMemberRow] {
    var members = [PackMemberRow]()
    var states = [PackMemberRow.State.waiting]
    if request.includesUnregistered { states.append(.unregistered) }
    for state in states where members.count < count {
      members += try self.connection.rows(
        PackMemberRow.readFree, row.id, state.rawValue, count - members.count
      ) { try PackMemberRow($0) }
    }
    guard let period = row.pack.refreshEvery else { return members }
    let due = request.now.microsecondsSince1970.clampedDifference(period.microseconds)
    // A value that is there already takes hardly more room than it has.
    return try members
      + self.connection.rows(PackMemberRow.readDue, row.id, due, request.count - members.count) {
        try PackMemberRow($0)
      }
  }
}

// MARK: - Results

extension PackTables {
  /// Records what became of members, in a write transaction.
  ///
  /// - Throws: `StorageError`.
  func settle(
    _ results: [PackResult], of id: UUID, for owner: String, at now: Date, limits: PackLimits
  ) throws -> PackStanding? {
    guard let row = try self.row(id) else { return nil }
    var missing = [QueryIdentity]()
    for result in results {
      let hash = XXH128(hashing: result.identity.text)
      let found = try self.connection.first(PackMemberRow.readResult, row.id, hash) { row in
        (
          id: try row.integer(at: 0), state: try row.integer(at: 1),
          owner: try row.optionalText(at: 2),
          pages: try row.optionalInteger(at: 3).map { PackPages(number: Int(clamping: $0)) },
          bytes: try row.optionalInteger(at: 4)
        )
      }
      // It has left the list, or is another process's by now.
      guard let found, found.owner == nil || found.owner == owner else { continue }
      let outcome = result.outcome(ifListHas: found.pages)
      if outcome == .fetched, found.bytes == nil, result.isReleasedIfMissing {
        try self.connection.execute(
          PackMemberRow.settle, PackMemberRow.State.waiting.rawValue, Int64(0), Int64?.none,
          String?.none, found.id)
        missing.append(result.identity)
        continue
      }
      let wasDone = found.state == PackMemberRow.State.done.rawValue
      try self.settle(
        outcome, found.id, wasDone: wasDone, bytes: found.bytes, now.microsecondsSince1970)
    }
    var standing = try self.standing(row, limits)
    standing.missing = missing
    return standing
  }

  private func settle(
    _ outcome: PackResult.Outcome, _ id: Int64, wasDone: Bool, bytes: Int64?, _ now: Int64
  ) throws {
    func write(
      _ state: PackMemberRow.State, _ bytes: Int64? = nil, date: Int64? = nil,
      _ error: String? = nil
    ) throws {
      try self.connection.execute(PackMemberRow.settle, state.rawValue, bytes, date, error, id)
    }
    switch outcome {
    case .fetched:
      guard let bytes else { return try write(.failed, 0, PackResult.notStored) }
      try write(.done, bytes, date: now)
    case .underWay: try self.connection.execute(PackMemberRow.advance, bytes ?? 0, now, id)
    // Of one that is there the value stays, and it is tried again with the next refresh.
    case .failed(let text) where wasDone: try write(.done, date: now, text)
    case .failed(let text): try write(.failed, bytes, text)
    case .unregistered: try write(wasDone ? .done : .unregistered, date: wasDone ? now : nil)
    case .released: try write(wasDone ? .done : .waiting)
    }
  }
}
