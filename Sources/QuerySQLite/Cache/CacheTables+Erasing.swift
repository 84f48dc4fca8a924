import Query

// MARK: - Erasing

extension CacheTables {
  /// Takes everything from the account, in a write transaction: from its commit on no reader finds
  /// any of it. The rows stay in the file until ``finishErasing(patience:stepRows:didCommit:)``.
  ///
  /// - Returns: The tables of the account, with another number and a raised epoch.
  /// - Throws: `StorageError`.
  func beginErasing() throws -> CacheTables {
    let row = try self.readPartition()
    var tables = self
    tables.partition = try Erasure.begin(
      self.partition, named: try self.requireName(), epoch: row.epoch &+ 1,
      revision: row.revision &+ 1, on: self.connection)
    return tables
  }

  /// Deletes the erased rows, and makes sure that no byte of them is in the file or its WAL.
  /// Outside transactions; after ``beginErasing()``, and when a file that has such rows is opened.
  ///
  /// - Parameters:
  ///   - patience: How long to wait for other connections that are in the way.
  ///   - stepRows: How many rows one transaction deletes, and pages it gives back, if it has the time.
  ///   - didCommit: Called after each transaction.
  /// - Throws: `StorageError`, busy if a reader stayed in the way: then it has to be called again.
  func finishErasing(
    patience: Duration = .seconds(30), stepRows: Int = 200,
    didCommit: @escaping () throws -> Void = {}
  ) throws {
    let erasure = Erasure(
      connection: self.connection, deleteRows: self.deleteErased, didCommit: didCommit,
      stepRows: stepRows)
    try erasure.finish(patience: patience) {
      try self.vacuumInSteps(of: stepRows, didCommit: didCommit)
    }
  }

  /// Deletes rows of an erased partition, as many as fit a transaction.
  ///
  /// - Returns: Whether those were all.
  func deleteErased(_ partition: Int64, _ budget: StepBudget) throws -> Bool {
    var (rows, bytes) = (0, 0)
    func isSpent() -> Bool { budget.isSpent(after: rows) || bytes >= Erasure.deletedBytes }
    func delete(_ sql: SQL, _ id: Int64, _ size: Int64) throws {
      try self.connection.execute(sql, id)
      (rows, bytes) = (rows + 1, bytes + Int(size))
    }
    while !isSpent() {
      let entry = try self.connection.first(EntryRow.readAny, partition) { row in
        (id: try row.integer(at: 0), bytes: try row.integer(at: 1))
      }
      guard let entry else { break }
      // Its pages, of which it may have any number, are deleted before it.
      let pages = try self.connection.rows(PageRow.readSizes, entry.id, budget.rows) { row in
        (id: try row.integer(at: 0), bytes: try row.integer(at: 1))
      }
      for page in pages where !isSpent() { try delete(PageRow.deleteRow, page.id, page.bytes) }
      if isSpent() { return false }
      if pages.count < budget.rows {
        try delete(EntryRow.delete, entry.id, pages.isEmpty ? entry.bytes : 0)
      }
    }
    while !isSpent() {
      let row = try self.connection.first(QuarantineRow.readAny, partition) { row in
        (id: try row.integer(at: 0), bytes: try row.integer(at: 1))
      }
      guard let row else { break }
      try delete(QuarantineRow.delete, row.id, row.bytes)
    }
    while !isSpent() {
      let member = try self.connection.first(PackMemberRow.readAny, partition) { row in
        (id: try row.integer(at: 0), bytes: try row.integer(at: 1))
      }
      guard let member else {
        try self.connection.execute(PackRow.deleteAll, partition)
        return true
      }
      try delete(PackMemberRow.delete, member.id, member.bytes)
    }
    return false
  }
}
