import Foundation
import Query

// MARK: - Writing

extension OutboxRow {
  /// The highest number ever assigned, as AUTOINCREMENT finds it.
  private static let newest: SQL = """
    SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0),
      coalesce((SELECT max(number) FROM outbox), 0))
    """

  /// The columns that are fixed by enqueueing or restoring, the number, or NULL if none is left,
  /// which SQLite refuses, and the lease.
  private static let insert: SQL = """
    INSERT INTO outbox (number, partition, id, idempotency_key, name, instance, version, lane, host,
      on_failure, max_attempts, max_age, coalesce, created_at, age_at, age_boottime, age_boot_id,
      age_is_synchronised, coder, body_file, checksum, arguments, state, wait_reason, attempts,
      lease_owner, lease_end_monotonic, lease_boot_id, attempt_started_at, lease_token,
      credentials_epoch)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
      ?)
    """

  /// The columns of an `OutboxStanding`, then the number.
  private static let update: SQL = """
    UPDATE outbox SET state = ?, wait_reason = ?, dead_reason = ?, awaited_alias = ?, attempts = ?,
      failures = ?, crash_count = ?, maybe_applied = ?, is_cancel_requested = ?, due_at = ?,
      due_boottime = ?, due_boot_id = ?, due_delay = ?, lease_owner = ?, lease_end_monotonic = ?,
      lease_boot_id = ?, attempt_started_at = ?, lease_token = ?, credentials_epoch = ?,
      last_failure = ?, failed_at = ?, last_error_type = ?, last_error_text = ?
    WHERE number = ?
    """

  /// Key, arguments, checksum, number.
  private static let updateContent: SQL = """
    UPDATE outbox SET idempotency_key = ?, arguments = ?, checksum = ? WHERE number = ?
    """

  /// The columns of the age, number.
  private static let updateAge: SQL = """
    UPDATE outbox SET age_at = ?, age_boottime = ?, age_boot_id = ?, age_is_synchronised = ?
    WHERE number = ?
    """

  /// Number.
  static let delete: SQL = "DELETE FROM outbox WHERE number = ?"

  /// Inserts the row under the next number, which it adopts; or under its own, if that is not 0.
  ///
  /// - Throws: `StorageError`.
  mutating func insert(_ coalesce: CoalescePolicy, on connection: SQLiteConnection) throws {
    // Not the one that SQLite would assign: the checksum covers the number, too.
    if self.number == 0 { self.renumber(try Self.nextNumber(on: connection)) }
    try connection.execute(
      Self.insert, self.number == 0 ? nil : self.number, self.partition, self.id,
      self.idempotencyKey, self.name, self.instance, self.version, self.lane, self.host,
      self.onFailure.rawValue, self.maxAttempts, self.maxAge, coalesce.rawValue, self.createdAt,
      self.age.startAt, self.age.startBoottime, self.age.bootID, self.age.isSynchronised,
      self.coder, self.bodyFile, self.checksum, self.arguments, self.standing.state.rawValue,
      self.standing.wait.reason?.rawValue, self.standing.attempts, self.standing.lease?.owner,
      self.standing.lease?.endMonotonic, self.standing.lease?.bootID,
      self.standing.lease?.startedAt, self.standing.token, self.standing.credentialsEpoch)
  }

  /// The number of the next row; 0 if none is left.
  private static func nextNumber(on connection: SQLiteConnection) throws -> Int64 {
    let newest = try connection.first(Self.newest) { try $0.integer(at: 0) } ?? 0
    return newest == .max ? 0 : max(newest, 0) + 1
  }

  /// Writes its standing.
  ///
  /// - Throws: `StorageError`.
  func saveStanding(on connection: SQLiteConnection) throws {
    let standing = self.standing
    let (wait, delay) = (standing.wait, standing.wait.delay)
    try connection.execute(
      Self.update, standing.state.rawValue, wait.reason?.rawValue,
      standing.deadReason?.rawValue, wait.alias, standing.attempts, standing.failures,
      standing.crashCount, standing.maybeApplied, standing.isCancelRequested, delay?.endAt,
      delay?.endBoottime, delay?.bootID, delay?.length, standing.lease?.owner,
      standing.lease?.endMonotonic, standing.lease?.bootID, standing.lease?.startedAt,
      standing.token, standing.credentialsEpoch,
      standing.lastFailure, standing.failedAt, standing.lastError?.typeName,
      standing.lastError?.text, self.number)
  }

  /// Gives it other arguments, another key, or both. A row that is not as it was enqueued stays
  /// unsound: which part of it is wrong is unknown.
  ///
  /// - Throws: `StorageError`.
  mutating func replaceContent(
    arguments: Data, key: String, on connection: SQLiteConnection
  ) throws {
    let wasSound = self.isSound
    self.arguments = arguments
    self.idempotencyKey = key
    if wasSound { self.checksum = self.ownChecksum }
    try connection.execute(
      Self.updateContent, key, arguments, self.checksum, self.number)
  }

  /// Restarts its age at a time.
  ///
  /// - Throws: `StorageError`.
  mutating func restartAge(_ now: OutboxTime, on connection: SQLiteConnection) throws {
    self.age = OutboxAge(from: now)
    try connection.execute(
      Self.updateAge, self.age.startAt, self.age.startBoottime, self.age.bootID,
      self.age.isSynchronised, self.number)
  }

  /// Makes the row of a new mutation.
  init(_ new: NewMutation, partition: Int64, now: OutboxTime) {
    self.number = 0
    self.partition = partition
    self.id = new.id
    self.idempotencyKey = new.idempotencyKey
    self.name = new.name
    self.instance = new.instance
    self.version = new.version
    self.lane = new.lane
    self.host = new.host
    self.onFailure = new.onFailure
    self.maxAttempts = new.maxAttempts
    self.maxAge = new.maxAge?.microseconds
    self.createdAt = now.wall.microsecondsSince1970
    self.age = OutboxAge(from: now)
    self.coder = new.coder
    self.bodyFile = new.bodyFile
    self.checksum = XXH128(high: 0, low: 0)
    self.arguments = new.arguments
    self.standing = OutboxStanding(new)
    self.isHead = false
    self.hasDependencies = false
    self.checksum = self.ownChecksum
  }
}
