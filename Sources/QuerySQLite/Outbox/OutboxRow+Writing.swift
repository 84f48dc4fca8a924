import FoundationEssentials
import Query

// MARK: - Writing

extension OutboxRow {
  /// The columns that a new row may have values of.
  private static let insert: SQL = {
    let columns = ColumnNames.of { (names) throws(StorageError) in
      var row = OutboxRow()
      try row.columns(&names)
      try row.columnsOfState(&names)
    }
    return SQL(assembling: "INSERT INTO outbox \(columns.values)")
  }()

  private static let standingColumns = ColumnNames.of { (names) throws(StorageError) in
    var standing = OutboxStanding()
    try standing.columnsOfLease(&names)
    try standing.otherColumns(&names)
  }

  /// The columns of an `OutboxStanding`, then the number.
  static let update = SQL(
    assembling: "UPDATE outbox SET \(standingColumns.assignments) WHERE number = ?")

  /// The same, for a row that begins to wait. Apart from the other statement, since SQLite rewrites an index
  /// whenever a column of its condition is assigned, even to the value that it has.
  static let updateToWait = SQL(
    assembling: "UPDATE outbox SET \(standingColumns.assignments), has_waited = 1 WHERE number = ?")

  /// The columns that a claim changes, then the number. Apart from the other statements for the same reason: no
  /// index of a lane is rewritten.
  static let updateToRun: SQL = {
    let columns = ColumnNames.of { (names) throws(StorageError) in
      var standing = OutboxStanding()
      try standing.columnsOfLease(&names)
      try standing.columnsOfDelay(&names)
    }
    return SQL(assembling: "UPDATE outbox SET \(columns.assignments) WHERE number = ?")
  }()

  /// Key, arguments, version, edited paths, checksum, number.
  private static let updateContent: SQL = """
    UPDATE outbox SET idempotency_key = ?, arguments = ?, version = ?, edited_paths = ?, checksum = ?
    WHERE number = ?
    """

  /// The columns of the age, number.
  private static let updateAge: SQL = """
    UPDATE outbox SET age_at = ?, age_boottime = ?, age_boot_id = ?, age_is_synchronised = ?
    WHERE number = ?
    """

  /// Number.
  static let delete: SQL = "DELETE FROM outbox WHERE number = ?"

  /// Inserts the row. The checksum covers its number, so that SQLite does not assign it.
  ///
  /// - Throws: `StorageError`.
  mutating func insert(on connection: SQLiteConnection) throws {
    try connection.withStatement(Self.insert) { statement in
      var binder = ColumnBinder(statement)
      try self.columns(&binder)
      self.hasWaited = self.standing.state != .leased
      try self.columnsOfState(&binder)
      try statement.run()
    }
  }

  /// Writes its standing.
  ///
  /// - Throws: `StorageError`.
  package mutating func saveStanding(on connection: SQLiteConnection) throws {
    var standing = self.standing
    let beginsToWait = !self.hasWaited && standing.state != .leased
    try connection.withStatement(beginsToWait ? Self.updateToWait : Self.update) { statement in
      var binder = ColumnBinder(statement)
      try standing.columnsOfLease(&binder)
      try standing.otherColumns(&binder)
      try binder.bind(self.number)
      try statement.run()
    }
    if beginsToWait { self.hasWaited = true }
  }

  /// Writes its standing after the claim of a row that waited for no alias.
  ///
  /// - Throws: `StorageError`.
  func saveLease(on connection: SQLiteConnection) throws {
    var standing = self.standing
    try connection.withStatement(Self.updateToRun) { statement in
      var binder = ColumnBinder(statement)
      try standing.columnsOfLease(&binder)
      try standing.columnsOfDelay(&binder)
      try binder.bind(self.number)
      try statement.run()
    }
  }

  /// Gives it other arguments, another key, or both. A row that was unsound stays so, since nobody knows
  /// which of its bytes are wrong.
  ///
  /// - Throws: `StorageError`.
  mutating func replaceContent(
    arguments: Data, version: Int?, key: String, editedPaths: EditedPaths? = nil,
    on connection: SQLiteConnection
  ) throws {
    let wasSound = self.isSound
    self.enqueued.arguments = arguments
    if let version { self.enqueued.version = version }
    self.enqueued.idempotencyKey = key
    if let editedPaths { self.enqueued.editedPaths = editedPaths }
    if wasSound { self.checksum = self.ownChecksum }
    try connection.execute(
      Self.updateContent, key, arguments, self.version, self.enqueued.editedPaths?.text,
      self.checksum, self.number)
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
    self.standing = OutboxStanding(new, at: now)
    self.completeEntry()
    self.checksum = self.ownChecksum
  }
}
