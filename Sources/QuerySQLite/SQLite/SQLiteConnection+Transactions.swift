import CSQLite
import Query

extension SQLiteConnection {
  /// The kind of transaction that a connection is in.
  enum Transaction {
    case none
    case read
    case write
  }

  /// Runs a closure in a transaction that holds the write lock from its beginning, so that no
  /// statement in it fails with busy. It is committed if the closure returns, and rolled back if it
  /// throws.
  ///
  /// - Throws: `StorageError` (busy) if the lock stayed taken for the connection's patience, then
  ///   nothing has run; or the error of the closure or of the commit: then nothing is written. An
  ///   error of the rollback never replaces the first error.
  package func write<R>(_ body: () throws -> R) throws -> R {
    let pause = self.writeHolds.pause()
    if pause > .zero { self.letOthersWrite(for: pause) }
    return try self.run(.write, begin: "BEGIN IMMEDIATE", body)
  }

  /// Waits between two steps of long work, so that other connections can get the write lock: they try
  /// it every few milliseconds.
  package func letOthersWrite() { self.letOthersWrite(for: LockWait.longestSleep) }

  private func letOthersWrite(for pause: Duration) {
    LockWait.sleep(for: self.isAlone() ? min(pause, LockWait.strangersTurn) : pause)
  }

  /// Runs a closure whose reads all see one state of the database, that of the first read. It
  /// cannot write. It blocks no writer, but keep it short: the WAL cannot be restarted while it
  /// lasts.
  ///
  /// - Throws: `StorageError`, and what the closure throws.
  package func read<R>(_ body: () throws -> R) throws -> R {
    try self.run(.read, begin: "BEGIN", body)
  }

  private func run<R>(
    _ kind: Transaction,
    begin: SQL,
    _ body: () throws -> R
  ) throws -> R {
    precondition(self.transaction == .none, "transactions do not nest")
    let handle = try self.handle(for: "begin")
    // Left over from a transaction that could not be rolled back.
    if sqlite3_get_autocommit(handle) == 0 { try self.control("ROLLBACK") }
    try self.control(begin)
    self.transaction = kind
    self.hasLinkedLog = false
    let start = SuspendingClock.now
    defer {
      self.transaction = .none
      if kind == .write { self.writeHolds.didHold(since: start) }
    }
    do {
      let changes = sqlite3_total_changes(handle)
      let result = try body()
      // If nothing changed, the commit writes nothing.
      if kind == .write, sqlite3_total_changes(handle) != changes { try self.linkLog() }
      if kind == .write { try self.commit(handle) } else { try self.control("COMMIT") }
      return result
    } catch {
      // Some errors have rolled it back already. The first error counts; if the rollback fails now,
      // it is done before the next transaction.
      if sqlite3_get_autocommit(handle) == 0 { try? self.control("ROLLBACK") }
      throw error
    }
  }

  /// Commits, with one call to the system for all that is written to the WAL.
  private func commit(_ handle: OpaquePointer) throws(StorageError) {
    csqlite_begin_gathering(handle, self.frames.pointer)
    defer { csqlite_end_gathering(self.frames.pointer) }
    try self.control("COMMIT")
  }

  /// Runs a statement that begins or ends a transaction, to which the rules of the others do not
  /// apply.
  private func control(_ sql: SQL) throws(StorageError) {
    let statement: SQLiteStatement
    if let cached = self.statements.statement(for: sql) {
      statement = cached
    } else {
      statement = try SQLiteStatement(sql, connection: self)
      statement.isCached = self.statements.insert(statement, for: sql)
    }
    statement.begin()
    defer {
      statement.end()
      if !statement.isCached { statement.finalise() }
    }
    // A failed BEGIN is retried, so the statement is kept.
    try statement.run()
  }
}
