import FoundationEssentials
package import Query

/// The tables of `cache.sqlite`, as far as they concern one partition.
///
/// It has no thread, no queue and no memory of its own: each function runs a few statements on the
/// connection, in its caller's transaction.
/// ```swift
/// let tables = try CacheTables(partitionNamed: "", on: writer)
/// let totals = try writer.write {
///   var changes = try tables.begin()
///   _ = try changes.write(PreparedEntry(entry, identity: identity))
///   return try changes.finish()
/// }
/// ```
package struct CacheTables {
  /// A caller that may not use the connection may not use the tables either.
  package let connection: SQLiteConnection

  /// The number of the partition.
  package var partition: Int64

  /// The name of the account, if it is known: an erased account gets it back with its first entry.
  var name: String?

  /// Makes the tables of a known partition.
  ///
  /// - Parameters:
  ///   - partition: The number of the partition.
  ///   - name: The name of the account.
  ///   - connection: A connection to `cache.sqlite`.
  package init(partition: Int64, named name: String? = nil, on connection: SQLiteConnection) {
    (self.partition, self.name) = (partition, name)
    self.connection = connection
  }

  /// Finds a partition, or creates it if it is missing. Outside transactions.
  ///
  /// - Parameters:
  ///   - name: The name of the account.
  ///   - connection: A connection that can write.
  /// - Throws: `StorageError`.
  package init(partitionNamed name: String, on connection: SQLiteConnection) throws {
    self = try Self.withRow(named: name, on: connection).tables
  }

  /// Finds a partition as it is now, or creates it if it is missing. In a write transaction:
  /// another process may have erased it, which gives it another number.
  ///
  /// - Throws: `StorageError`.
  package static func current(
    named name: String, on connection: SQLiteConnection
  ) throws -> CacheTables {
    if let tables = try Self.existing(named: name, on: connection) { return tables }
    try connection.execute(PartitionRow.insert, name)
    guard let tables = try Self.existing(named: name, on: connection) else {
      throw Self.missing(connection)
    }
    return tables
  }

  /// Finds a partition with its row, both in one snapshot: another process may erase the account
  /// between two reads, which gives it another number.
  ///
  /// - Throws: `StorageError`.
  static func existingWithRow(
    named name: String, on connection: SQLiteConnection
  ) throws -> (tables: CacheTables, row: PartitionRow)? {
    try connection.read {
      try Self.existing(named: name, on: connection).map { ($0, try $0.readPartition()) }
    }
  }

  /// Finds a partition with its row, or creates it if it is missing. Outside transactions.
  ///
  /// - Throws: `StorageError`.
  static func withRow(
    named name: String, on connection: SQLiteConnection
  ) throws -> (tables: CacheTables, row: PartitionRow) {
    if let found = try Self.existingWithRow(named: name, on: connection) { return found }
    return try connection.write {
      let tables = try Self.current(named: name, on: connection)
      return (tables, try tables.readPartition())
    }
  }

  /// Finds a partition.
  ///
  /// - Returns: nil if it is missing.
  /// - Throws: `StorageError`.
  static func existing(
    named name: String, on connection: SQLiteConnection
  ) throws -> CacheTables? {
    for text in [name, ErasedName(of: name).text] {
      let id = try connection.first(PartitionRow.readID, text) { try $0.integer(at: 0) }
      if let id { return CacheTables(partition: id, named: name, on: connection) }
    }
    return nil
  }
}

// MARK: - The partition

extension CacheTables {
  /// Reads epoch, totals and the newest number of the partition.
  ///
  /// - Throws: `StorageError`.
  package func readPartition() throws -> PartitionRow {
    let row = try self.connection.first(PartitionRow.read, self.partition) { try PartitionRow($0) }
    guard let row else { throw Self.missing(self.connection) }
    return row
  }

  /// Begins to change the tables, in a write transaction.
  ///
  /// - Returns: The changes, which ``CacheChanges/finish()`` ends.
  /// - Throws: `StorageError`.
  package func begin() throws -> CacheChanges {
    precondition(self.connection.transaction == .write, "changes are made inside write { }")
    return CacheChanges(self, try self.readPartition())
  }

  /// The name of the account, read from the file if these tables were made without it.
  ///
  /// - Throws: `StorageError`.
  func requireName() throws -> String {
    if let name { return name }
    let found = try self.connection.first(PartitionRow.readName, self.partition) {
      try $0.text(at: 0)
    }
    guard let found else { throw Self.missing(self.connection) }
    return found
  }

  private static func missing(_ connection: SQLiteConnection) -> StorageError {
    StorageError(
      operation: "read partition", code: .corrupt, message: "the row of the partition is missing",
      fileName: connection.fileName)
  }
}

// MARK: - What changed

extension CacheTables {
  /// Reads which entries were written or confirmed after a revision, in the order of writing. Removed
  /// entries are not among them; a removal only raises the number in ``readPartition()``.
  ///
  /// - Parameter revision: The newest number that the caller knows.
  /// - Throws: `StorageError`.
  package func changes(after revision: Int64) throws -> [(identity: QueryIdentity, revision: Int64)]
  {
    func changes(_ sql: SQL) throws -> [(identity: QueryIdentity, revision: Int64)] {
      try self.connection.rows(sql, self.partition, revision) { row in
        (QueryIdentity(canonicalText: try row.text(at: 0)), try row.integer(at: 1))
      }
    }
    let written = try changes(EntryRow.readChanged)
    let confirmed = try changes(ConfirmationRow.readChanged)
    if confirmed.isEmpty { return written }
    // Each entry once, by its last change.
    let latest = Set(confirmed.map(\.identity))
    return (written.filter { !latest.contains($0.identity) } + confirmed)
      .sorted { $0.revision < $1.revision }
  }
}

// MARK: - The file

extension CacheTables {
  /// Gives free pages back to the file system, a few in each transaction. Outside transactions.
  ///
  /// - Parameters:
  ///   - pages: How many one transaction gives back, if it has the time.
  ///   - didCommit: Called after each transaction.
  /// - Returns: How many pages it has freed.
  /// - Throws: `StorageError`.
  @discardableResult
  package func vacuumInSteps(
    of pages: Int = 1_000, didCommit: () throws -> Void = {}
  ) throws -> Int {
    var freed = 0
    while true {
      let step = try self.vacuumStep(pages: pages)
      freed += step.freed
      try didCommit()
      if step.isDone { return freed }
      self.connection.letOthersWrite()
    }
  }

  /// Gives free pages back to the file system in one transaction, if it has the time.
  ///
  /// - Parameter pages: How many at most.
  /// - Returns: How many pages it has freed, and whether no more are free.
  /// - Throws: `StorageError`.
  func vacuumStep(pages: Int) throws -> (freed: Int, isDone: Bool) {
    try self.connection.write {
      let step = try self.vacuum(self.connection.stepBudget(rows: pages))
      // SQLite counts it as no change.
      if step.freed > 0 { try self.connection.linkLog() }
      return step
    }
  }

  /// Gives free pages back to the file system, in a write transaction.
  ///
  /// - Parameter budget: How many at most.
  /// - Returns: How many pages it has freed, and whether no more are free.
  /// - Throws: `StorageError`.
  package func vacuum(_ budget: StepBudget) throws -> (freed: Int, isDone: Bool) {
    try self.connection.withStatement("PRAGMA incremental_vacuum") { statement in
      // Each step frees a page.
      var freed = 0
      while !budget.isSpent(after: freed) {
        guard try statement.step() else { return (freed, true) }
        freed += 1
      }
      return (freed, false)
    }
  }
}

/// The result of ``CacheTables/read(_:limit:)``.
enum CacheReading: Equatable {
  /// An entry, with its revision.
  case entry(StoredEntry)
  /// No entry.
  case absent
  /// An entry whose bytes are not those that were written: ``CacheChanges/quarantine(_:revision:_:now:)``.
  case wrongChecksum(revision: Int64)
  /// An entry with more bytes than the limit; its value was not read.
  case large(byteCount: Int)
}
