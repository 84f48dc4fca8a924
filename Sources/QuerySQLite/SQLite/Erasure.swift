import Query

/// An `erase()` in either database, in small transactions.
///
/// The first of them makes it done for everybody: the account gets a row of its own anew, with another
/// number, and what belongs to the old number is no account's any more, so that nobody finds it. What is
/// written from then on has the new number, and nothing of this deletes it. The rest takes its time, and
/// whoever opens the file next goes on with it: old rows are deleted, and then their bytes are
/// overwritten where SQLite leaves them.
///
/// `partitions.is_erasing` is 2 where rows are to be deleted, and 1 where an account's are deleted, or are
/// about to be, and their bytes may still be in the file.
struct Erasure {
  let connection: SQLiteConnection

  /// Deletes rows of a partition in a write transaction, as many as fit it. Whether those were all.
  let deleteRows: (_ partition: Int64, _ budget: StepBudget) throws -> Bool

  /// Called after each transaction, outside of it.
  let didCommit: () throws -> Void

  /// How many rows are deleted in one transaction, if it has the time.
  var stepRows = 200
}

// MARK: - Beginning

extension Erasure {
  /// Name, epoch, id.
  private static let leave: SQL = """
    UPDATE partitions SET name = ?, is_erasing = 2, epoch = ? WHERE id = ?
    """

  /// Name, epoch, revision.
  private static let insert: SQL = """
    INSERT INTO partitions (name, epoch, is_erasing, revision) VALUES (?, ?, 1, ?)
    """

  /// Gives an account another number, in a write transaction. Its row has a hash in the place of its name.
  ///
  /// - Parameters:
  ///   - id: The number that it has.
  ///   - name: Its name.
  ///   - epoch: The epoch that it is to have.
  ///   - revision: The revision that it is to have.
  /// - Returns: The number that it has now.
  /// - Throws: `StorageError`.
  static func begin(
    _ id: Int64, named name: String, epoch: Int64, revision: Int64,
    on connection: SQLiteConnection
  ) throws -> Int64 {
    try connection.execute(Self.leave, ErasedName(ofRowsIn: id).text, epoch, id)
    try connection.execute(Self.insert, ErasedName(of: name).text, epoch, revision)
    return try connection.lastInsertedID
  }
}

// MARK: - Going on

extension Erasure {
  /// By both: no bit that has flipped deletes an account.
  private static let left: SQL = """
    SELECT id FROM partitions WHERE is_erasing = 2 AND substr(name, 1, 12) = 'erased:rows ' ORDER BY id
    """
  private static let remove: SQL = "DELETE FROM partitions WHERE id = ? AND is_erasing = 2"
  private static let erased: SQL = "SELECT id, epoch FROM partitions WHERE is_erasing = 1"

  /// Id, epoch.
  private static let end: SQL = "UPDATE partitions SET is_erasing = 0 WHERE id = ? AND epoch = ?"

  /// Whether anything is left to be done.
  ///
  /// - Throws: `StorageError`.
  func isNeeded() throws -> Bool {
    if !(try self.numbers(Self.left)).isEmpty { return true }
    return !(try self.numbers(Self.erased)).isEmpty
  }

  private func numbers(_ sql: SQL) throws -> [Int64] {
    try self.connection.rows(sql) { try $0.integer(at: 0) }
  }

  /// Deletes the rows that are left. Outside transactions; other processes may do the same.
  ///
  /// - Throws: `StorageError`.
  func deleteLeftRows() throws {
    try self.connection.withSecureDelete {
      for partition in try self.numbers(Self.left) {
        var isDone = false
        while !isDone {
          isDone = try self.connection.write {
            guard try self.deleteRows(partition, StepBudget(rows: self.stepRows)) else {
              return false
            }
            try self.connection.execute(Self.remove, partition)
            return true
          }
          try self.didCommit()
          StepBudget.letOthersWrite()
        }
      }
    }
  }

  /// Makes sure that no byte of what was erased is in the file or its WAL. Outside transactions.
  ///
  /// - Parameters:
  ///   - patience: How long to wait for other connections that let nothing be done.
  ///   - willOverwrite: Called when all rows are deleted.
  /// - Throws: `StorageError`, busy if a reader stayed in the way: then it is to be done again.
  func finish(patience: Duration, willOverwrite: () throws -> Void = {}) throws {
    try self.deleteLeftRows()
    let erased = try self.connection.rows(Self.erased) {
      (id: try $0.integer(at: 0), epoch: try $0.integer(at: 1))
    }
    if erased.isEmpty { return }
    try willOverwrite()
    try self.connection.scrub(patience: patience)
    try self.connection.write {
      for (id, epoch) in erased { try self.connection.execute(Self.end, id, epoch) }
    }
  }
}
