import Query

/// An `erase()` in either database, in small transactions.
///
/// The first of them takes effect for every process: the account gets a new row with another
/// number, and what belongs to the old number is no account's any more, so that no reader finds it.
/// What is written from then on has the new number, and no later transaction of the erasure deletes
/// it. The rest takes its time, and the process that opens the file next goes on with it: old rows
/// are deleted, and then their bytes are overwritten wherever SQLite leaves them.
///
/// `partitions.is_erasing` is 2 if the rows of that number are to be deleted, and 1 if an account's
/// old rows are deleted, or are about to be, and their bytes may still be in the file.
package struct Erasure {
  /// How many bytes one transaction deletes: each of their pages is overwritten.
  static let deletedBytes = 2 << 20

  let connection: SQLiteConnection

  /// Deletes rows of a partition in a write transaction, as many as fit it. Returns whether those
  /// were all.
  let deleteRows: (_ partition: Int64, _ budget: StepBudget) throws -> Bool

  /// Called after each transaction, outside of it.
  let didCommit: () throws -> Void

  /// How many rows one transaction deletes, if it has the time.
  var stepRows: Int

  package init(
    connection: SQLiteConnection,
    deleteRows: @escaping (_ partition: Int64, _ budget: StepBudget) throws -> Bool,
    didCommit: @escaping () throws -> Void,
    stepRows: Int = 200
  ) {
    self.connection = connection
    self.deleteRows = deleteRows
    self.didCommit = didCommit
    self.stepRows = stepRows
  }
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

  /// Gives an account another number, in a write transaction. In its row a hash replaces its name.
  ///
  /// - Parameters:
  ///   - id: Its old number.
  ///   - name: Its name.
  ///   - epoch: Its new epoch.
  ///   - revision: Its new revision.
  /// - Returns: Its new number.
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
  /// Found by both columns, so that a single flipped bit deletes no account.
  private static let left: SQL = """
    SELECT id FROM partitions WHERE is_erasing = 2 AND substr(name, 1, 12) = 'erased:rows ' ORDER BY id
    """
  private static let remove: SQL = "DELETE FROM partitions WHERE id = ? AND is_erasing = 2"
  private static let erased: SQL = "SELECT id, epoch FROM partitions WHERE is_erasing = 1"

  /// Id, epoch.
  private static let end: SQL = "UPDATE partitions SET is_erasing = 0 WHERE id = ? AND epoch = ?"

  /// Whether anything is left to do.
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
  package func deleteLeftRows() throws {
    try self.connection.withSecureDelete {
      for partition in try self.numbers(Self.left) {
        var isDone = false
        while !isDone {
          isDone = try self.connection.write {
            guard try self.deleteRows(partition, self.connection.stepBudget(rows: self.stepRows))
            else {
              return false
            }
            try self.connection.execute(Self.remove, partition)
            return true
          }
          try self.didCommit()
          self.connection.letOthersWrite()
        }
      }
    }
  }

  /// Makes sure that no erased byte is in the file or its WAL. Outside transactions.
  ///
  /// - Parameters:
  ///   - patience: How long to wait for other connections that are in the way.
  ///   - willOverwrite: Called when all rows are deleted.
  /// - Throws: `StorageError`, busy if a reader stayed in the way: then it has to be called again.
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
