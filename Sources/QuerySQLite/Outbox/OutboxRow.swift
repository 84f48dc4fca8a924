package import Foundation
package import Query

/// A live or dead mutation: a row of the table `outbox`, joined with two other tables.
package struct OutboxRow {
  package var number: Int64
  package var partition: Int64
  package var id: UUID
  var idempotencyKey: String
  var name: String
  var instance: String
  var version: Int
  var lane: String?
  var host: String?
  var onFailure: LanePolicy
  var maxAttempts: Int?
  /// Microseconds.
  var maxAge: Int64?
  var createdAt: Int64
  var age: OutboxAge
  var coder: String
  package var bodyFile: String?
  package var checksum: XXH128
  var arguments: Data
  /// Its state, wait and lease.
  package var standing: OutboxStanding
  /// Whether it is the head of its lane.
  var isHead: Bool
  /// Whether it depends on a mutation that has not succeeded.
  var hasDependencies: Bool

  /// The host that counts.
  var effectiveHost: String { self.host ?? "name:\(self.name)" }

  /// Whether the row is as it was enqueued: SQLite does not notice a flipped byte.
  package var isSound: Bool { self.checksum == self.ownChecksum }
}

// MARK: - The checksum

extension OutboxRow {
  /// The checksum of what is sent, of all that decides where to (the account, the handler, the
  /// place in a lane), and of the row's identity: its identifier and its number, by which other
  /// rows refer to it. It leaves out what only decides when.
  var ownChecksum: XXH128 {
    let texts: [String?] = [
      self.name, self.instance, self.lane, self.host, self.onFailure.rawValue, self.coder,
      self.bodyFile, self.idempotencyKey,
    ]
    // With their lengths, so that no byte can move from one to another.
    var head = "\(self.version)"
    for text in texts {
      head += " "
      head += String(text?.utf8.count ?? -1)
    }
    for case let text? in texts { head += text }
    return XXH128(hashing: head, self.arguments).adding(self.id)
      .adding(self.partition, as: .account).adding(self.number, as: .row)
  }

  /// Assigns the row to an account with another number, as in another file. An unsound row stays
  /// unsound.
  mutating func move(to partition: Int64) {
    self.checksum = self.checksum.adding(partition &- self.partition, as: .account)
    self.partition = partition
  }

  /// Gives the row another number. An unsound row stays unsound.
  mutating func renumber(_ number: Int64) {
    self.checksum = self.checksum.adding(number &- self.number, as: .row)
    self.number = number
  }
}

extension XXH128 {
  /// The meaning of a number that is mixed in. It is multiplied by an odd number, so that each of
  /// its bits counts, and by a different one for each meaning, so that two numbers cannot change
  /// places.
  package enum Mixed: UInt64 {
    case account = 0x9e37_79b9_7f4a_7c15
    case row = 0xc2b2_ae3d_27d4_eb4f
    case identifier = 0x1656_67b1_9e37_79f9
  }

  /// The hash with a number mixed in. Mixing in two numbers is the same as mixing in their sum.
  package func adding(_ number: Int64, as meaning: Mixed) -> XXH128 {
    XXH128(
      high: self.high, low: self.low &+ UInt64(bitPattern: number) &* meaning.rawValue)
  }

  /// The hash with an identifier mixed in.
  func adding(_ id: UUID) -> XXH128 {
    let halves = unsafeBitCast(id.uuid, to: (UInt64, UInt64).self)
    return XXH128(
      high: self.high &+ UInt64(bigEndian: halves.0) &* Mixed.identifier.rawValue,
      low: self.low &+ UInt64(bigEndian: halves.1) &* Mixed.identifier.rawValue)
  }
}

// MARK: - Reading

extension OutboxRow {
  /// Number: all columns, in the order of ``init(_:)``.
  package static let read: SQL = """
    SELECT number, partition, id, idempotency_key, name, instance, version, lane, host, on_failure,
      max_attempts, max_age, created_at, age_at, age_boottime, age_boot_id, age_is_synchronised,
      coder, body_file, checksum, arguments, state, wait_reason, dead_reason, awaited_alias,
      attempts, failures, crash_count, maybe_applied, is_cancel_requested, due_at, due_boottime,
      due_boot_id, due_delay, lease_owner, lease_end_monotonic, lease_boot_id, lease_token,
      credentials_epoch, last_failure, failed_at, last_error_type, last_error_text,
      attempt_started_at,
      EXISTS (SELECT 1 FROM lane_heads AS h WHERE h.number = outbox.number),
      EXISTS (SELECT 1 FROM dependencies WHERE dependant = outbox.number)
    FROM outbox WHERE number = ?
    """

  /// Partition, id.
  static let findByID: SQL = "SELECT number FROM outbox WHERE partition = ? AND id = ?"

  package init(_ row: SQLiteStatement) throws {
    self.number = try row.integer(at: 0)
    self.partition = try row.integer(at: 1)
    self.id = try row.uuid(at: 2)
    self.idempotencyKey = try row.text(at: 3)
    self.name = try row.text(at: 4)
    self.instance = try row.text(at: 5)
    self.version = Int(try row.integer(at: 6))
    self.lane = try row.optionalText(at: 7)
    self.host = try row.optionalText(at: 8)
    // A word of a later release: `halt`, so that nothing behind it runs that should not.
    self.onFailure = LanePolicy(rawValue: try row.text(at: 9)) ?? .halt
    self.maxAttempts = try row.optionalInteger(at: 10).map { Int($0) }
    self.maxAge = try row.optionalInteger(at: 11)
    self.createdAt = try row.integer(at: 12)
    self.age = OutboxAge(
      startAt: try row.integer(at: 13), startBoottime: try row.integer(at: 14),
      bootID: try row.text(at: 15), isSynchronised: try row.bool(at: 16))
    self.coder = try row.text(at: 17)
    self.bodyFile = try row.optionalText(at: 18)
    self.checksum = try row.hash(at: 19)
    self.arguments = try row.data(at: 20)
    self.standing = try OutboxStanding(row, from: 21)
    self.isHead = try row.bool(at: 44)
    self.hasDependencies = try row.bool(at: 45)
  }
}

extension OutboxStanding {
  fileprivate init(_ row: SQLiteStatement, from start: Int32) throws {
    self.init()
    let state = try row.text(at: start)
    guard let state = OutboxEntry.State(rawValue: state) else {
      throw StorageError(
        operation: "read column", code: .mismatch, message: "an unknown state, \(state)",
        fileName: DatabaseKind.mutations.fileName)
    }
    self.state = state
    let waitReason = try row.optionalText(at: start + 1)
    let deadReason = try row.optionalText(at: start + 2)
    self.deadReason = deadReason.flatMap { MutationDeadReason(rawValue: $0) }
    self.attempts = try row.count(at: start + 4)
    self.failures = try row.count(at: start + 5)
    self.crashCount = try row.count(at: start + 6)
    self.maybeApplied = try row.bool(at: start + 7)
    self.isCancelRequested = try row.bool(at: start + 8)
    self.wait = OutboxWait(
      waitReason.flatMap { MutationWaitReason(rawValue: $0) }, try row.delay(at: start + 9),
      alias: try row.optionalText(at: start + 3))
    if let owner = try row.optionalText(at: start + 13) {
      self.lease = Lease(
        owner: owner, endMonotonic: try row.optionalInteger(at: start + 14) ?? 0,
        bootID: try row.optionalText(at: start + 15) ?? "",
        startedAt: try row.optionalInteger(at: start + 22) ?? 0)
    }
    self.token = try row.integer(at: start + 16)
    self.credentialsEpoch = try row.integer(at: start + 17)
    self.lastFailure = try row.optionalText(at: start + 18)
    self.failedAt = try row.optionalInteger(at: start + 19)
    self.lastError = try row.optionalError(at: start + 20)
  }
}

extension SQLiteStatement {
  /// The time that a row waits for, from its four columns.
  fileprivate func delay(at index: Int32) throws -> OutboxDelay? {
    guard let endAt = try self.optionalInteger(at: index) else { return nil }
    return OutboxDelay(
      endAt: endAt, endBoottime: try self.optionalInteger(at: index + 1) ?? 0,
      bootID: try self.optionalText(at: index + 2) ?? "",
      length: try self.optionalInteger(at: index + 3) ?? 0)
  }

  /// A number that counts attempts. An impossible one, from a damaged file, is clamped so that it
  /// can still be incremented: the row stays usable.
  fileprivate func count(at index: Int32) throws -> Int {
    Int(min(max(try self.integer(at: index), 0), 1 << 40))
  }

  /// An identifier. Any other number of bytes than 16 is a mismatch.
  package func uuid(at index: Int32) throws -> UUID {
    let hash = try self.hash(at: index)
    return hash.withBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// An error, from the columns of its type and its text.
  package func optionalError(at index: Int32) throws -> RestoredError? {
    guard let typeName = try self.optionalText(at: index) else { return nil }
    return RestoredError(typeName: typeName, text: try self.optionalText(at: index + 1) ?? "")
  }
}
