import Query

// MARK: - Erasing

extension CacheTables {
  /// Takes all that it has from the account, in a write transaction: from its commit on nobody finds any
  /// of it. The rows are in the file until ``finishErasing(patience:stepRows:didCommit:)``.
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

  /// Deletes what was erased, and makes sure that no byte of it is in the file or its WAL. Outside
  /// transactions; after ``beginErasing()``, and when a file is opened in which some is left.
  ///
  /// - Parameters:
  ///   - patience: How long to wait for other connections that let nothing be done.
  ///   - stepRows: How many rows are deleted in one transaction, if it has the time.
  ///   - didCommit: Called after each transaction.
  /// - Throws: `StorageError`, busy if a reader stayed in the way: then it is to be done again.
  func finishErasing(
    patience: Duration = .seconds(30), stepRows: Int = 200,
    didCommit: @escaping () throws -> Void = {}
  ) throws {
    let erasure = Erasure(
      connection: self.connection, deleteRows: self.deleteErased, didCommit: didCommit,
      stepRows: stepRows)
    try erasure.finish(patience: patience) {
      var isDone = false
      while !isDone {
        isDone = try self.connection.write {
          try self.vacuum(StepBudget(rows: Self.vacuumedPages)).isDone
        }
        try didCommit()
        StepBudget.letOthersWrite()
      }
    }
  }

  /// How many pages are given back in one transaction, if it has the time.
  static let vacuumedPages = 1_000

  /// So many bytes are deleted in one transaction: each page of them is overwritten.
  private static let deletedBytes = 2 << 20

  /// Deletes rows of a partition that was erased, as many as fit a transaction.
  ///
  /// - Returns: Whether those were all.
  func deleteErased(_ partition: Int64, _ budget: StepBudget) throws -> Bool {
    var (rows, bytes) = (0, 0)
    func isSpent() -> Bool { budget.isSpent(after: rows) || bytes >= Self.deletedBytes }
    func delete(_ sql: SQL, _ id: Int64, _ size: Int64) throws {
      try self.connection.execute(sql, id)
      (rows, bytes) = (rows + 1, bytes + Int(size))
    }
    while !isSpent() {
      let entry = try self.connection.first(EntryRow.readAny, partition) { row in
        (id: try row.integer(at: 0), bytes: try row.integer(at: 1))
      }
      guard let entry else { break }
      // Its pages, of which it may have any number, go before it.
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
      guard let row else { return true }
      try delete(QuarantineRow.delete, row.id, row.bytes)
    }
    return false
  }
}
