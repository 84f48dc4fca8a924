import Foundation
import Query

/// What ``CacheChanges/write(_:identity:)`` did.
enum CacheWriteOutcome: Equatable {
  /// There was no entry.
  case inserted(revision: Int64, bytes: Int)
  /// There was one, and something was different; so many bytes more than before.
  case updated(revision: Int64, bytes: Int)
  /// All was the same; nothing was written.
  case unchanged
  /// Another identity has the hash; nothing was written.
  case collision
}

/// What is in the row of an entry, but for its value.
private struct Stamp {
  let row: EntryRow
  /// Whether the row has a value, which is not in pages then.
  let hasValue: Bool

  var hasPages: Bool { !self.hasValue && self.row.checksum != nil }
}

// MARK: - Writing

extension CacheChanges {
  /// Writes what is different in an entry from what is stored, by the checksums in the rows: another
  /// process may have written, evicted or erased it meanwhile.
  ///
  /// - Parameters:
  ///   - entry: The entry.
  ///   - identity: What it is stored under.
  /// - Throws: `StorageError`.
  /// - Complexity: O(*n*) in the bytes of the value, which are hashed.
  mutating func write(
    _ entry: StoredEntry,
    identity: QueryIdentity
  ) throws -> CacheWriteOutcome {
    let entry = entry.withLargeValueApart
    let pages = Self.wantedPages(of: entry)
    var row = EntryRow(
      entry, identity: identity, hash: XXH128(hashing: identity.text), partition: self.partition,
      pages: pages.map(\.checksum))
    guard let stamp = try self.stamp(row.hash) else {
      row.revision = self.nextRevision()
      try row.write(to: self.connection)
      let id = try self.connection.lastInsertedID
      try self.writePages(of: entry, wanted: pages, id: id, hadPages: false)
      self.count(entries: 1, bytes: Int(row.byteCount))
      return .inserted(revision: row.revision, bytes: Int(row.byteCount))
    }
    let old = stamp.row
    guard QueryIdentity(canonicalText: old.identity) == identity else { return .collision }
    if row.hasSameContent(as: old) { return .unchanged }
    row.id = old.id
    row.revision = self.nextRevision()
    if row.hasSameValue(as: old) {
      try row.writeState(to: self.connection)
    } else {
      try row.write(to: self.connection)
      try self.writePages(of: entry, wanted: pages, id: old.id, hadPages: stamp.hasPages)
    }
    let difference = Int(row.byteCount - old.byteCount)
    self.count(entries: 0, bytes: difference)
    return .updated(revision: row.revision, bytes: difference)
  }

  private func stamp(_ hash: XXH128) throws -> Stamp? {
    try self.connection.first(EntryRow.readStamp, self.partition, hash) { row in
      Stamp(row: try EntryRow(withoutValue: row), hasValue: try row.bool(at: 22))
    }
  }

  // MARK: - Pages

  private static func wantedPages(of entry: StoredEntry) -> [PagePlan.Wanted] {
    guard case .pages(let pages, _, _) = entry.content else { return [] }
    return pages.map { page in
      PagePlan.Wanted(
        checksum: XXH128(pageID: page.id, value: page.value), pageID: page.id)
    }
  }

  /// Makes the pages of an entry what they shall be. Values that are stored are not read.
  private func writePages(
    of entry: StoredEntry,
    wanted: [PagePlan.Wanted],
    id: Int64,
    hadPages: Bool
  ) throws {
    guard case .pages(let pages, _, _) = entry.content else {
      if hadPages { try self.connection.execute(PageRow.deleteAll, id) }
      return
    }
    let stored = try self.connection.rows(PageRow.readStamps, id) { row in
      PagePlan.Stored(
        position: try row.integer(at: 0), checksum: try row.hash(at: 1),
        pageID: try row.data(at: 2))
    }
    let plan = PagePlan(from: stored, to: wanted)
    for position in plan.deletions {
      try self.connection.execute(PageRow.delete, id, position)
    }
    let date = entry.history.valueLastUpdatedAt?.microsecondsSince1970 ?? 0
    for write in plan.writes {
      let page = pages[write.index]
      try PageRow(
        entry: id, position: write.position, updatedAt: date,
        checksum: wanted[write.index].checksum, pageID: page.id, value: page.value
      ).write(to: self.connection)
    }
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
    guard let stamp = try self.stamp(XXH128(hashing: identity.text)),
      QueryIdentity(canonicalText: stamp.row.identity) == identity
    else { return false }
    try self.removeRow(stamp.row.id, bytes: Int(stamp.row.byteCount))
    return true
  }

  /// Removes the row of an entry with its pages, and counts it.
  mutating func removeRow(_ id: Int64, bytes: Int) throws {
    try self.connection.execute(EntryRow.delete, id)
    self.count(entries: -1, bytes: -bytes)
    _ = self.nextHiddenNumber()
  }
}
