import CSQLite
import Query

extension SQLiteConnection {
  /// What a connection is in the middle of.
  enum Transaction {
    case none
    case read
    case write
  }

  /// Runs a closure in a transaction that holds the write lock from its beginning, so that nothing
  /// in it can find it taken. It is committed where the closure returns, and undone where it throws.
  ///
  /// - Throws: `StorageError` (busy) where the lock stayed taken for the connection's patience, then
  ///   nothing has run; or what the closure throws, or that the commit failed: then nothing is
  ///   written. A failure while undoing never takes the place of the first error.
  func write<R>(_ body: () throws -> R) throws -> R {
    BusyHandler.sleep(for: self.writeHolds.pause())
    return try self.run(.write, begin: "BEGIN IMMEDIATE", body)
  }

  /// Runs a closure whose reads all see one state of the database, that of the first of them.
  /// Nothing can be written in it. It holds up no writer, but keep it short: the WAL cannot be
  /// restarted while it lasts.
  ///
  /// - Throws: `StorageError`, and what the closure throws.
  func read<R>(_ body: () throws -> R) throws -> R { try self.run(.read, begin: "BEGIN", body) }

  private func run<R>(
    _ kind: Transaction,
    begin: SQL,
    _ body: () throws -> R
  ) throws -> R {
    precondition(self.transaction == .none, "transactions do not nest")
    let handle = try self.handle(for: "begin")
    // Left over from a transaction that could not be undone.
    if sqlite3_get_autocommit(handle) == 0 { try self.control("ROLLBACK") }
    try self.control(begin)
    self.transaction = kind
    let start = SuspendingClock.now
    defer {
      self.transaction = .none
      if kind == .write { self.writeHolds.didHold(since: start) }
    }
    do {
      let result = try body()
      try self.control("COMMIT")
      return result
    } catch {
      // Some errors have undone it already. The first error counts; what cannot be undone now is
      // undone before the next transaction.
      if sqlite3_get_autocommit(handle) == 0 { try? self.control("ROLLBACK") }
      throw error
    }
  }

  /// Runs a statement that begins or ends a transaction, which the rules of the others do not fit.
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
    // A failed BEGIN is to be tried again, so the statement is kept.
    try statement.run()
  }
}
