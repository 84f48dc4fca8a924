import Foundation
import Query
import QuerySQLite

// MARK: - Entries

extension StoreInspection {
  /// Hands out entries, in their order. The rows are read before the first is handed out, so each
  /// of them may be gone by then; if there are very many, or very long identities, some are read
  /// later.
  ///
  /// - Parameters:
  ///   - query: Which, and in which order.
  ///   - body: Called with each entry.
  /// - Returns: How many there were.
  /// - Throws: `InspectionError`, and what the closure throws.
  /// - Complexity: O(*n* log *n*) in the number of entries in the file; 80 bytes and the identity
  ///   of each are held.
  @discardableResult
  package func entries(
    _ query: EntryQuery, _ body: (InspectedEntry) throws -> Void
  ) throws -> Int {
    try self.require(partition: query.partition)
    guard let index = try self.readIfThere(.cache, { try Self.index(of: query, on: $0) }) else {
      return 0
    }
    // The closure may take long: an application that closes the store meanwhile is then its last
    // user.
    self.cacheFile.close()
    var count = 0
    for place in 0..<index.count {
      guard let entry = try index.entry(at: place) ?? self.entry(index.id(at: place)) else {
        continue
      }
      try body(entry)
      count += 1
    }
    return count
  }

  private static func index(
    of query: EntryQuery, on connection: SQLiteConnection
  ) throws -> EntryIndex {
    var index = EntryIndex()
    let partitions = try self.partitions(query.partition, on: connection)
    if partitions.isEmpty { return index }
    let names = Dictionary(partitions.map { ($0.id, $0.name) }) { first, _ in first }
    let matcher = EntryQuery.Matcher(query.matching)
    let limit = query.limit ?? .max
    try connection.withStatement(InspectedEntry.list) { row in
      try row.bindAll(
        query.partition == nil ? nil : partitions[0].id, query.kind, query.isInvalidated,
        query.isFailed, query.sort.rawValue)
      while index.count < limit, try row.step() {
        guard try row.withText(at: 17, { matcher.matches($0) }) else { continue }
        try index.append(row, names)
      }
    }
    return index
  }

  /// Reads an entry by the number of its row; nil if it is gone.
  private func entry(_ id: Int64) throws(InspectionError) -> InspectedEntry? {
    try self.cacheFile.read { try Self.entry(id, on: $0) }
  }

  static func entry(_ id: Int64, on connection: SQLiteConnection) throws -> InspectedEntry? {
    let names = try self.partitions(on: connection)
    return try connection.first(InspectedEntry.read, id) { row in
      let partition = try row.integer(at: 1)
      return try InspectedEntry(row, partition: names.first { $0.id == partition }?.name ?? "?")
    }
  }
}

// MARK: - One of them

extension StoreInspection {
  /// Lowest and highest hash, partition or NULL, limit: the entries with a hash between them.
  private static let byHash: SQL = """
    SELECT id FROM entries WHERE hash BETWEEN ?1 AND ?2 AND (?3 IS NULL OR partition = ?3)
      AND partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
    ORDER BY hash, id LIMIT ?4
    """

  /// Finds the entry that a person names.
  ///
  /// - Parameters:
  ///   - name: The beginning of a hash, or a whole identity.
  ///   - partition: The account; nil: any.
  /// - Throws: `InspectionError`: not found, ambiguous, and what reading throws.
  package func entry(
    named name: String, in partition: String? = nil
  ) throws(InspectionError) -> InspectedEntry {
    try self.require(partition: partition)
    let found = try self.readIfThere(.cache) { connection in
      try Self.ids(named: name, in: partition, on: connection).compactMap {
        try Self.entry($0, on: connection)
      }
    }
    guard let found, let first = found.first else { throw .notFound("entry \(name)") }
    if found.count == 1 { return first }
    let candidates = found.map { entry in
      let place = entry.partition.isEmpty ? "" : " in \(entry.partition)"
      return "\(entry.hash.short) \(entry.identity.prefix(100))\(place)"
    }
    throw .ambiguous(name, candidates: candidates)
  }

  /// The numbers of the rows that a name fits, 20 at most.
  static func ids(
    named name: String, in partition: String?, on connection: SQLiteConnection
  ) throws -> [Int64] {
    let partitions = try self.partitions(partition, on: connection)
    if partitions.isEmpty { return [] }
    let id = partition == nil ? nil : partitions.first?.id
    func find(_ lowest: Data, _ highest: Data) throws -> [Int64] {
      try connection.rows(Self.byHash, lowest, highest, id, 20) { try $0.integer(at: 0) }
    }
    if let range = InspectedHash.range(ofPrefix: name) {
      let found = try find(range.lowest, range.highest)
      if !found.isEmpty { return found }
    }
    let hash = XXH128(hashing: name).withBytes { Data($0) }
    return try find(hash, hash).filter { try Self.entry($0, on: connection)?.identity == name }
  }
}
