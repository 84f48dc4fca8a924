import FoundationEssentials
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
  /// Partition or NULL: the identities of the entries. Id, identity.
  private static let identities: SQL = """
    SELECT id, identity FROM entries INDEXED BY entries_by_identity
    WHERE partition IN (SELECT id FROM partitions WHERE is_erasing <> 2 AND (?1 IS NULL OR id = ?1))
    """

  /// Partition or NULL, identity, limit: the entries with this identity.
  private static let byIdentity: SQL = """
    SELECT id FROM entries INDEXED BY entries_by_identity
    WHERE partition IN (SELECT id FROM partitions WHERE is_erasing <> 2 AND (?1 IS NULL OR id = ?1))
      AND identity = ?2 ORDER BY id LIMIT ?3
    """

  /// Partition or NULL, lowest and highest hash, limit: the entries that are stored under one of these.
  private static let byStoredHash: SQL = """
    SELECT id FROM entries NOT INDEXED
    WHERE partition IN (SELECT id FROM partitions WHERE is_erasing <> 2 AND (?1 IS NULL OR id = ?1))
      AND hash BETWEEN ?2 AND ?3 ORDER BY hash, id LIMIT ?4
    """

  private static let mostFound = 20

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

  /// The numbers of the rows that a name fits, 20 at most. The hash is that of the text; if no entry has it,
  /// the one under which a row is stored, as ``check(_:progress:found:)`` names it.
  static func ids(
    named name: String, in partition: String?, on connection: SQLiteConnection
  ) throws -> [Int64] {
    let partitions = try self.partitions(partition, on: connection)
    if partitions.isEmpty { return [] }
    let id = partition == nil ? nil : partitions.first?.id
    if let range = InspectedHash.hashes(ofPrefix: name) {
      let found = try self.ids(in: range, id, on: connection)
      if !found.isEmpty { return found }
    }
    let found = try Self.ids(ofIdentity: name, id, on: connection)
    guard found.isEmpty, let range = InspectedHash.range(ofPrefix: name) else { return found }
    return try connection.rows(
      Self.byStoredHash, id, range.lowest, range.highest, Self.mostFound
    ) { try $0.integer(at: 0) }
  }

  /// The numbers of the rows with an identity in an account.
  static func ids(
    ofIdentity identity: String, in partition: String, on connection: SQLiteConnection
  ) throws -> [Int64] {
    guard let id = try self.partitions(partition, on: connection).first?.id else { return [] }
    return try self.ids(ofIdentity: identity, id, on: connection)
  }

  private static func ids(
    ofIdentity identity: String, _ partition: Int64?, on connection: SQLiteConnection
  ) throws -> [Int64] {
    try connection.rows(Self.byIdentity, partition, identity, Self.mostFound) {
      try $0.integer(at: 0)
    }
  }

  /// The numbers of the rows whose identity has a hash in a range, in the order of the hashes.
  ///
  /// - Complexity: O(*n*) in the number of entries in the file, of which no value is read.
  private static func ids(
    in range: ClosedRange<InspectedHash>, _ partition: Int64?, on connection: SQLiteConnection
  ) throws -> [Int64] {
    try connection.withStatement(Self.identities) { row in
      try row.bindAll(partition)
      var found = [(hash: InspectedHash, id: Int64)]()
      while try row.step() {
        let hash = InspectedHash(try row.withText(at: 1) { XXH128(hashing: $0) })
        if range.contains(hash) { found.append((hash, try row.integer(at: 0))) }
      }
      return found.sorted { ($0.hash, $0.id) < ($1.hash, $1.id) }.prefix(Self.mostFound).map(\.id)
    }
  }
}
