package import FoundationEssentials
package import Query

/// A live or dead mutation: a row of the table `outbox`, joined with two other tables.
package struct OutboxRow {
  /// What enqueueing has fixed; ``entry(_:)`` adds the standing.
  var enqueued: OutboxEntry
  package var partition: Int64
  /// Microseconds.
  var maxAge: Int64?
  /// The word of a `CoalescePolicy`.
  package var coalesce: String
  /// Microseconds since 1970.
  var createdAt: Int64
  var age: OutboxAge
  package var bodyFile: String?
  package var checksum: XXH128
  /// Its state, wait and lease.
  package var standing: OutboxStanding
  /// Whether it was ever pending or dead, according to the table: until then `outbox_leased` is its only
  /// index.
  var hasWaited: Bool
  /// Whether it is the head of its lane.
  var isHead: Bool
  /// Whether it depends on a mutation that has not succeeded.
  var hasDependencies: Bool

  /// Whether the row is as it was enqueued: SQLite does not notice a flipped byte.
  package var isSound: Bool { self.checksum == self.ownChecksum }
}

// MARK: - Of its entry

extension OutboxRow {
  package var number: Int64 {
    get { Int64(self.enqueued.number) }
    set { self.enqueued.number = Int(newValue) }
  }

  package var id: UUID { self.enqueued.id }
  var name: String { self.enqueued.name }
  var priority: MutationPriority { self.enqueued.priority }
  var instance: String { self.enqueued.instance }
  var version: Int { self.enqueued.version }
  var lane: String? { self.enqueued.lane }
  var onFailure: LanePolicy { self.enqueued.onFailure }
  var idempotencyKey: String { self.enqueued.idempotencyKey }
  var arguments: Data { self.enqueued.arguments }

  /// The host that counts.
  var effectiveHost: String { self.enqueued.host ?? "name:\(self.name)" }
}

// MARK: - The checksum

extension OutboxRow {
  /// The checksum of what is sent, of what decides where it goes (the account, the handler, the place in a
  /// lane), and of the row's identity: its identifier, and the number by which other rows refer to it. What
  /// only decides when it is sent is left out.
  var ownChecksum: XXH128 {
    let texts: [String?] = [
      self.name, self.instance, self.lane, self.enqueued.host, self.onFailure.rawValue,
      self.enqueued.coder, self.bodyFile, self.idempotencyKey,
    ]
    let length = texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    var bytes = HashedBytes(capacity: length + self.arguments.count + 64)
    // The lengths are hashed, too, so that no byte can move from one text to the next.
    bytes.append(self.version)
    for text in texts {
      bytes.append(" ")
      bytes.append(text?.utf8.count ?? -1)
    }
    for case let text? in texts { bytes.append(text) }
    bytes.append(self.arguments)
    return bytes.hash.adding(self.id)
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

// MARK: - Columns

extension OutboxRow {
  /// The columns that are fixed by enqueueing or restoring.
  mutating func columns(_ visitor: inout some ColumnVisitor) throws(StorageError) {
    // NULL, which SQLite refuses, if no number is left.
    var number = self.number == 0 ? nil : self.number
    try visitor.column("number", &number)
    self.number = number ?? 0
    try visitor.column("partition", &self.partition)
    try visitor.column("id", &self.enqueued.id)
    try visitor.column("idempotency_key", &self.enqueued.idempotencyKey)
    try visitor.column("name", &self.enqueued.name)
    try visitor.column("instance", &self.enqueued.instance)
    try visitor.column("version", &self.enqueued.version)
    try visitor.column("lane", &self.enqueued.lane)
    try visitor.column("host", &self.enqueued.host)
    try visitor.column("on_failure", &self.enqueued.onFailure)
    try visitor.column("max_attempts", &self.enqueued.maxAttempts)
    try visitor.column("max_age", &self.maxAge)
    try visitor.column("coalesce", &self.coalesce)
    try visitor.column("priority", &self.enqueued.priority)
    try visitor.column("created_at", &self.createdAt)
    try self.age.columns(&visitor)
    try visitor.column("edited_paths", &self.enqueued.editedPaths)
    try visitor.column("coder", &self.enqueued.coder)
    try visitor.column("body_file", &self.bodyFile)
    try visitor.column("checksum", &self.checksum)
    try visitor.column("arguments", &self.enqueued.arguments)
  }

  /// The columns of the standing that a new row may have values of.
  mutating func columnsOfState(_ visitor: inout some ColumnVisitor) throws(StorageError) {
    try self.standing.columnsOfLease(&visitor)
    try visitor.column("has_waited", &self.hasWaited)
  }

  private static let allColumns = ColumnNames.of { (names) throws(StorageError) in
    var row = OutboxRow()
    try row.columns(&names)
    try row.columnsOfState(&names)
    try row.standing.otherColumns(&names)
  }

  /// All columns, and two of other tables, in the order of ``init(_:)``.
  static let all: SQL.Words = """
    SELECT \(allColumns.list),
      EXISTS (SELECT 1 FROM lane_heads AS h WHERE h.number = outbox.number),
      EXISTS (SELECT 1 FROM dependencies WHERE dependant = outbox.number)
    FROM outbox
    """

  /// Number.
  package static let read = SQL(assembling: "\(all) WHERE number = ?")

  /// Partition, id.
  static let findByID: SQL = """
    SELECT number FROM outbox WHERE has_waited <> 0 AND id = ?2 AND partition = ?1
    UNION ALL SELECT number FROM outbox
    WHERE state = 'leased' AND has_waited = 0 AND id = ?2 AND partition = ?1
    """

  /// Id: whether any account has a row of it.
  package static let hasID: SQL = """
    SELECT EXISTS (SELECT 1 FROM outbox WHERE has_waited <> 0 AND id = ?1)
      OR EXISTS (SELECT 1 FROM outbox WHERE state = 'leased' AND id = ?1)
    """

  package init(_ row: SQLiteStatement) throws {
    self.init()
    var reader = ColumnReader(row)
    try self.columns(&reader)
    try self.columnsOfState(&reader)
    try self.standing.otherColumns(&reader)
    self.isHead = try row.bool(at: reader.next)
    self.hasDependencies = try row.bool(at: reader.next + 1)
    self.completeEntry()
  }

  /// A row that has no column yet.
  init() {
    self.enqueued = .blank
    self.partition = 0
    self.coalesce = ""
    self.createdAt = 0
    self.age = OutboxAge(startAt: 0, startBoottime: 0, bootID: "", isSynchronised: false)
    self.checksum = XXH128(high: 0, low: 0)
    self.standing = OutboxStanding()
    self.hasWaited = false
    self.isHead = false
    self.hasDependencies = false
  }

  /// Fills in what the entry has in other units than the row.
  mutating func completeEntry() {
    self.enqueued.createdAt = Date(microsecondsSince1970: self.createdAt)
    self.enqueued.maxAge = self.maxAge.map { .microseconds($0) }
  }
}

extension OutboxStanding {
  /// The columns that a claim changes.
  mutating func columnsOfLease(_ visitor: inout some ColumnVisitor) throws(StorageError) {
    try visitor.column("state", &self.state)
    var reason = self.wait.reason
    try visitor.word("wait_reason", &reason)
    self.wait = OutboxWait(reason, self.wait.delay, alias: self.wait.alias)
    try visitor.count("attempts", &self.attempts)
    var (owner, end) = (self.lease?.owner, self.lease?.endMonotonic)
    var (bootID, startedAt) = (self.lease?.bootID, self.lease?.startedAt)
    var startedMonotonic = self.lease?.startedMonotonic
    try visitor.column("lease_owner", &owner)
    try visitor.column("lease_end_monotonic", &end)
    try visitor.column("lease_boot_id", &bootID)
    try visitor.column("lease_started_monotonic", &startedMonotonic)
    try visitor.column("attempt_started_at", &startedAt)
    self.lease = owner.map {
      Lease(
        owner: $0, endMonotonic: end ?? 0, bootID: bootID ?? "",
        startedMonotonic: startedMonotonic ?? 0, startedAt: startedAt ?? 0)
    }
    try visitor.column("lease_token", &self.token)
    try visitor.column("credentials_epoch", &self.credentialsEpoch)
  }

  /// The other columns, which an insert leaves to their defaults.
  mutating func otherColumns(_ visitor: inout some ColumnVisitor) throws(StorageError) {
    try visitor.word("dead_reason", &self.deadReason)
    // An index tells the dead from the live by it: a reason of a later release must not become none.
    self.deadReason = self.state == .dead ? self.deadReason ?? .rejected : nil
    var alias = self.wait.alias
    try visitor.column("awaited_alias", &alias)
    try visitor.count("failures", &self.failures)
    try visitor.count("unknown_failures", &self.unknownFailures)
    try self.columnsOfUnknown(&visitor)
    try visitor.count("crash_count", &self.crashCount)
    try visitor.column("is_suspect", &self.isSuspect)
    try visitor.column("maybe_applied", &self.maybeApplied)
    try visitor.column("is_cancel_requested", &self.isCancelRequested)
    self.wait = OutboxWait(self.wait.reason, self.wait.delay, alias: alias)
    try self.columnsOfDelay(&visitor)
    try visitor.column("last_failure", &self.lastFailure)
    try visitor.column("failed_at", &self.failedAt)
    try visitor.error("last_error_type", "last_error_text", &self.lastError)
  }
}

extension OutboxStanding {
  /// The columns of a wait for a time, which a claim clears.
  mutating func columnsOfDelay(_ visitor: inout some ColumnVisitor) throws(StorageError) {
    var (endAt, endBoottime) = (self.wait.delay?.endAt, self.wait.delay?.endBoottime)
    var (bootID, length) = (self.wait.delay?.bootID, self.wait.delay?.length)
    try visitor.column("due_at", &endAt)
    try visitor.column("due_boottime", &endBoottime)
    try visitor.column("due_boot_id", &bootID)
    try visitor.column("due_delay", &length)
    let delay = endAt.map {
      OutboxDelay(
        endAt: $0, endBoottime: endBoottime ?? 0, bootID: bootID ?? "", length: length ?? 0)
    }
    self.wait = OutboxWait(self.wait.reason, delay, alias: self.wait.alias)
  }

  private mutating func columnsOfUnknown(
    _ visitor: inout some ColumnVisitor
  ) throws(StorageError) {
    var (startAt, startBoottime) = (self.unknownSince?.startAt, self.unknownSince?.startBoottime)
    var (bootID, isSynchronised) = (
      self.unknownSince?.bootID, self.unknownSince?.isSynchronised ?? false
    )
    try visitor.column("unknown_at", &startAt)
    try visitor.column("unknown_boottime", &startBoottime)
    try visitor.column("unknown_boot_id", &bootID)
    try visitor.column("unknown_is_synchronised", &isSynchronised)
    self.unknownSince = startAt.map {
      OutboxAge(
        startAt: $0, startBoottime: startBoottime ?? 0, bootID: bootID ?? "",
        isSynchronised: isSynchronised)
    }
  }
}

extension OutboxAge {
  mutating func columns(_ visitor: inout some ColumnVisitor) throws(StorageError) {
    try visitor.column("age_at", &self.startAt)
    try visitor.column("age_boottime", &self.startBoottime)
    try visitor.column("age_boot_id", &self.bootID)
    try visitor.column("age_is_synchronised", &self.isSynchronised)
  }
}

extension OutboxEntry {
  /// An entry whose columns are yet to be read.
  static let blank = OutboxEntry(
    id: XXH128(high: 0, low: 0).withBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) },
    number: 0, name: "", instance: "", idempotencyKey: "",
    createdAt: Date(timeIntervalSinceReferenceDate: 0), coder: "", arguments: Data())
}

// MARK: - Words

extension OutboxEntry.State: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    let word = try row.text(at: index)
    if let state = Self(rawValue: word) { return state }
    throw StorageError(
      operation: "read column", code: .mismatch, message: "an unknown state, \(word)",
      fileName: DatabaseKind.mutations.fileName)
  }

  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try statement.bind(self.rawValue, at: index)
  }
}

extension LanePolicy: SQLiteColumn {
  /// An unknown word, of a later release, counts as `halt`: nothing behind it runs that should not.
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    Self(rawValue: try row.text(at: index)) ?? .halt
  }

  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try statement.bind(self.rawValue, at: index)
  }
}

extension ColumnVisitor {
  /// A word of a list that later releases may extend; nil if this release does not know it.
  fileprivate mutating func word<Word: RawRepresentable<String>>(
    _ name: StaticString, _ value: inout Word?
  ) throws(StorageError) {
    var word = value?.rawValue
    try self.column(name, &word)
    value = word.flatMap { Word(rawValue: $0) }
  }
}

extension SQLiteStatement {
  /// An error, from the columns of its type and its text.
  package func optionalError(at index: Int32) throws -> RestoredError? {
    guard let typeName = try self.optionalText(at: index) else { return nil }
    return RestoredError(typeName: typeName, text: try self.optionalText(at: index + 1) ?? "")
  }
}

extension OutboxRow {
  /// The row as it is shown.
  package func entry(_ view: OutboxView) -> OutboxEntry {
    var entry = self.enqueued
    entry.show(
      self.standing, isHead: self.isHead, hasDependencies: self.hasDependencies, in: view)
    return entry
  }

  /// The entry as the history keeps it.
  var ended: OutboxEntry {
    var entry = self.enqueued.kept
    entry.attempts = self.standing.attempts
    entry.maybeApplied = self.standing.maybeApplied
    entry.lastError = self.standing.lastError
    return entry
  }

  /// Whether it gets a row in `lane_heads` if it is the first of its lane. A pending row without a lane is
  /// found only by that row.
  package var wantsHead: Bool {
    self.lane == nil
      ? self.standing.state == .pending : self.standing.holdsLane(self.lane, self.onFailure)
  }

  /// Whether only other rows keep it from running.
  func isReady(_ now: OutboxTime) -> Bool {
    self.standing.isReady(hasDependencies: self.hasDependencies, at: now)
  }
}
