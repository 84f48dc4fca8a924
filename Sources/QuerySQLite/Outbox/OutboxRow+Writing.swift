import Foundation
import Query

// MARK: - Writing

extension OutboxRow {
  /// The highest number ever assigned, as AUTOINCREMENT finds it.
  private static let newest: SQL = """
    SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0),
      coalesce((SELECT max(number) FROM outbox), 0))
    """

  /// The columns that a new row may have values of.
  private static let insert: SQL = {
    let columns = ColumnNames.of { (names) throws(StorageError) in
      var row = OutboxRow()
      try row.columns(&names)
      try row.standing.columnsOfLease(&names)
    }
    return SQL(assembling: "INSERT INTO outbox \(columns.values)")
  }()

  /// The columns of an `OutboxStanding`, then the number.
  private static let update: SQL = {
    let columns = ColumnNames.of { (names) throws(StorageError) in
      var standing = OutboxStanding()
      try standing.columnsOfLease(&names)
      try standing.otherColumns(&names)
    }
    return SQL(assembling: "UPDATE outbox SET \(columns.assignments) WHERE number = ?")
  }()

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
  mutating func insert(on connection: SQLiteConnection) throws {
    // Not the one that SQLite would assign: the checksum covers the number, too.
    if self.number == 0 { self.renumber(try Self.nextNumber(on: connection)) }
    try connection.withStatement(Self.insert) { statement in
      var binder = ColumnBinder(statement)
      try self.columns(&binder)
      try self.standing.columnsOfLease(&binder)
      try statement.run()
    }
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
    var standing = self.standing
    try connection.withStatement(Self.update) { statement in
      var binder = ColumnBinder(statement)
      try standing.columnsOfLease(&binder)
      try standing.otherColumns(&binder)
      try binder.bind(self.number)
      try statement.run()
    }
  }

  /// Gives it other arguments, another key, or both. A row that is not as it was enqueued stays
  /// unsound: which part of it is wrong is unknown.
  ///
  /// - Throws: `StorageError`.
  mutating func replaceContent(
    arguments: Data, key: String, on connection: SQLiteConnection
  ) throws {
    let wasSound = self.isSound
    self.enqueued.arguments = arguments
    self.enqueued.idempotencyKey = key
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
    self.init()
    self.enqueued = OutboxEntry(new, number: 0, createdAt: now.wall)
    self.partition = partition
    self.maxAge = new.maxAge?.microseconds
    self.coalesce = new.coalesce.rawValue
    self.createdAt = now.wall.microsecondsSince1970
    self.age = OutboxAge(from: now)
    self.bodyFile = new.bodyFile
    self.standing = OutboxStanding(new)
    self.completeEntry()
    self.checksum = self.ownChecksum
  }
}
