import Query

/// What one write transaction does to the tables of a partition. One gets it from
/// ``CacheTables/begin()``, and ends it with ``finish()`` before the transaction ends.
///
/// Each entry that is written, removed or used is given the next number of the partition's counter.
/// The row of the partition, which holds the counter and the totals, is read once, and written once
/// at most: not where the totals are what they were, and an entry shows the newest number itself.
struct CacheChanges {
  let tables: CacheTables

  /// Raised by each `erase()`: what carries an older one is not to be written.
  let epoch: Int64

  private var isNamed: Bool

  /// What the partition has.
  private(set) var totals: Totals

  /// The totals that its row shows.
  private var written: Totals
  private var hasHiddenNumber = false

  /// What a partition has.
  struct Totals: Equatable {
    /// How many entries.
    var entries: Int
    /// How many bytes they have: identity, error, value and pages.
    var bytes: Int
    /// The newest number of the counter.
    var revision: Int64
  }

  init(_ tables: CacheTables, _ row: PartitionRow) {
    self.tables = tables
    self.epoch = row.epoch
    self.isNamed = row.isNamed
    self.totals = row.totals
    self.written = row.totals
  }

  var connection: SQLiteConnection { self.tables.connection }
  var partition: Int64 { self.tables.partition }
}

// MARK: - Counting

extension CacheChanges {
  /// The next number of the counter, for the revision of an entry.
  mutating func nextRevision() -> Int64 {
    self.totals.revision += 1
    return self.totals.revision
  }

  /// The next number of the counter, for what no entry's revision shows.
  mutating func nextHiddenNumber() -> Int64 {
    self.hasHiddenNumber = true
    return self.nextRevision()
  }

  /// Adds to the totals. A file whose totals were wrong makes none of them negative.
  mutating func count(entries: Int, bytes: Int) {
    self.totals.entries = max(self.totals.entries + entries, 0)
    self.totals.bytes = max(self.totals.bytes + bytes, 0)
  }

  /// Writes the row of the partition where it has to be.
  ///
  /// - Returns: The new totals, which hold when the transaction is committed.
  /// - Throws: `StorageError`.
  mutating func finish() throws -> Totals {
    if !self.isNamed, self.totals.entries > 0, let name = self.tables.name {
      try self.connection.execute(PartitionRow.rename, name, self.partition)
      self.isNamed = true
    }
    let isChanged =
      self.totals.entries != self.written.entries || self.totals.bytes != self.written.bytes
    if isChanged || self.hasHiddenNumber {
      try self.connection.execute(
        PartitionRow.updateTotals, self.totals.revision, self.totals.entries, self.totals.bytes,
        self.partition)
      self.written = self.totals
      self.hasHiddenNumber = false
    }
    return self.totals
  }
}

// MARK: - Removing

extension CacheChanges {
  /// Removes an entry with its pages.
  ///
  /// - Parameter identity: What it is stored under.
  /// - Returns: Whether it was there.
  /// - Throws: `StorageError`.
  mutating func remove(_ identity: QueryIdentity) throws -> Bool {
    let hash = XXH128(hashing: identity.text)
    let place = try self.connection.first(EntryRow.readPlace, self.partition, hash) { row in
      try row.hasText(identity.text, at: 2)
        ? (id: row.integer(at: 0), bytes: Int(row.amount(at: 1))) : nil
    }
    guard let (id, bytes) = place ?? nil else { return false }
    try self.removeRow(id, bytes: bytes)
    return true
  }

  /// Removes the row of an entry with its pages, and counts it.
  mutating func removeRow(_ id: Int64, bytes: Int) throws {
    try self.connection.execute(EntryRow.delete, id)
    self.count(entries: -1, bytes: -bytes)
    _ = self.nextHiddenNumber()
  }
}
