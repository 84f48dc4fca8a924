import Query

/// What one write transaction does to the tables of a partition. ``CacheTables/begin()`` makes it,
/// and its caller ends it with ``finish()`` before the transaction ends.
///
/// Each entry that is written, removed or used is given the next number of the partition's counter.
/// The partition's row, which holds the counter and the totals, is read once and written at most
/// once: not at all if an entry's row shows the newest number, and with it the totals.
package struct CacheChanges {
  let tables: CacheTables

  /// Incremented by each `erase()`: a change that carries an older epoch is not written.
  var epoch: Int64 { self.row.epoch }

  /// The partition's row, but for the totals.
  private var row: PartitionRow

  /// The partition's current totals.
  package private(set) var totals: Totals

  private var hasHiddenNumber = false
  /// Whether an entry was removed that a pack has.
  private(set) var hasLostMembers = false

  /// Whether values are confirmed apart from their entries.
  var hasConfirmations: Bool {
    get { self.row.hasConfirmations }
    set { self.row.hasConfirmations = newValue }
  }

  /// The totals of a partition.
  package struct Totals: Equatable {
    /// The number of entries.
    package var entries: Int
    /// The bytes of their identities, errors, values and pages.
    package var bytes: Int
    /// The newest number of the counter.
    var revision: Int64
  }

  init(_ tables: CacheTables, _ row: PartitionRow) {
    self.tables = tables
    self.row = row
    self.totals = row.totals
  }

  package var connection: SQLiteConnection { self.tables.connection }
  package var partition: Int64 { self.tables.partition }
}

// MARK: - Counting

extension CacheChanges {
  /// The next number of the counter, for the revision of an entry whose row shows the totals, too.
  package mutating func nextRevision() -> Int64 {
    self.totals.revision += 1
    return self.totals.revision
  }

  /// The next number of the counter, for a change that no entry's revision shows.
  mutating func nextHiddenNumber() -> Int64 {
    self.hasHiddenNumber = true
    return self.nextRevision()
  }

  /// Adds to the totals. Wrong totals in a file make none of them negative.
  package mutating func count(entries: Int, bytes: Int) {
    self.totals.entries = max(self.totals.entries + entries, 0)
    self.totals.bytes = max(self.totals.bytes + bytes, 0)
  }

  /// Writes the partition's row if that is needed.
  ///
  /// - Returns: The row, with the new totals, as it is when the transaction is committed.
  /// - Throws: `StorageError`.
  @discardableResult
  package mutating func finish() throws -> PartitionRow {
    if !self.row.isNamed, self.totals.entries > 0, let name = self.tables.name {
      try self.connection.execute(PartitionRow.rename, name, self.partition)
      self.row.isNamed = true
    }
    if self.hasHiddenNumber {
      try self.connection.execute(
        PartitionRow.updateTotals, self.totals.revision, self.totals.entries, self.totals.bytes,
        self.partition)
      self.hasHiddenNumber = false
    }
    self.row.totals = self.totals
    return self.row
  }
}

// MARK: - Removing

extension CacheChanges {
  /// Removes an entry with its pages, unless a newer release has written it.
  ///
  /// - Parameters:
  ///   - identity: The identity that it is stored under.
  ///   - version: The newest version of the value that is removed.
  /// - Throws: `StorageError`.
  mutating func remove(
    _ identity: QueryIdentity, upToVersion version: Int64
  ) throws -> CacheRemoval {
    let hash = XXH128(hashing: identity.text)
    let place = try self.connection.first(EntryRow.readPlace, self.partition, identity.text) {
      row in
      try row.requireHash(hash, at: 2)
      return (
        id: try row.integer(at: 0), bytes: Int(try row.amount(at: 1)),
        version: row.rawInteger(at: 3)
      )
    }
    guard let place else { return .absent }
    if place.version > version { return .newerKept(version: Int(place.version)) }
    try self.removeRow(place.id, bytes: place.bytes)
    return .removed
  }

  /// Removes the row of an entry with its pages, and counts it.
  ///
  /// - Parameter isLost: Whether packs that have the entry are to fetch it again.
  package mutating func removeRow(_ id: Int64, bytes: Int, isLost: Bool = true) throws {
    if isLost {
      try self.connection.execute(PackMemberRow.lose, self.partition, id)
      if try self.connection.changes > 0 { self.hasLostMembers = true }
    }
    try self.connection.execute(EntryRow.delete, id)
    self.count(entries: -1, bytes: -bytes)
    _ = self.nextHiddenNumber()
  }
}

/// The result of ``CacheChanges/remove(_:upToVersion:)``.
enum CacheRemoval: Equatable {
  case removed
  /// There was no entry.
  case absent
  /// A newer release has written the entry, which stays.
  case newerKept(version: Int)
}

/// The result of ``CacheChanges/write(_:)``.
enum CacheWriteOutcome: Equatable {
  /// There was no entry.
  case inserted(revision: Int64, bytes: Int)
  /// There was an entry, and it differed; the bytes are the increase.
  case updated(revision: Int64, bytes: Int)
  /// Everything was equal; nothing was written.
  case unchanged
  /// Another value is stored than the entry was made of, and stays.
  case otherKept
  /// Somebody has removed what the entry was made of.
  case ignored
  /// A newer release has written the entry, which stays as it is.
  case newerKept(version: Int)
}
