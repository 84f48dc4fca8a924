package import FoundationEssentials
import Glibc
import Query
import QuerySQLite

// MARK: - The outbox

extension StoreInspection {
  /// Partition, number, limit: the rows after it.
  private static let numbers: SQL = """
    SELECT number FROM outbox NOT INDEXED WHERE partition = ? AND number > ? ORDER BY number LIMIT ?
    """

  /// How many rows one transaction reads.
  private static let rowsPerRead = 200

  /// Hands out live and dead mutations, in the order of enqueueing, one account after the other.
  /// Those that are enqueued meanwhile are included.
  ///
  /// - Parameters:
  ///   - partition: The account; nil: all.
  ///   - body: Called with each mutation.
  /// - Throws: `InspectionError`, and what the closure throws.
  package func mutations(
    in partition: String? = nil, _ body: (InspectedMutation) throws -> Void
  ) throws {
    try self.require(partition: partition)
    let names = try self.readIfThere(.mutations) { try Self.partitions(partition, on: $0) } ?? []
    for (id, name) in names {
      var last: Int64? = 0
      while let number = last {
        let chunk = try self.mutationsFile.read { connection in
          try Self.mutations(of: id, name, after: number, on: connection)
        }
        for mutation in chunk { try body(mutation) }
        last = chunk.count < Self.rowsPerRead ? nil : chunk.last.map { Int64($0.entry.number) }
      }
    }
  }

  private static func mutations(
    of partition: Int64, _ name: String, after number: Int64, on connection: SQLiteConnection
  ) throws -> [InspectedMutation] {
    let tables = try self.tables(name, on: connection)
    let numbers = try connection.rows(Self.numbers, partition, number, Self.rowsPerRead) {
      try $0.integer(at: 0)
    }
    return try numbers.compactMap { try self.mutation($0, tables, name) }
  }

  /// The tables of an account as an inspector sees them, which knows no handlers.
  static func tables(_ name: String, on connection: SQLiteConnection) throws -> OutboxTables {
    try OutboxTables(
      partitionNamed: name, on: connection, handlers: nil, OutboxClock.systemWithSync.now())
  }

  private static func mutation(
    _ number: Int64, _ tables: OutboxTables, _ partition: String
  ) throws -> InspectedMutation? {
    try tables.row(number).map { InspectedMutation($0, partition: partition, tables.view) }
  }
}

// MARK: - One of them

extension StoreInspection {
  /// Lowest and highest identifier, partition or NULL, limit. Number, partition.
  private static let byID: SQL = """
    SELECT number, partition, id FROM (
      SELECT number, partition, id FROM outbox WHERE has_waited <> 0 AND id BETWEEN ?1 AND ?2
      UNION ALL
      SELECT number, partition, id FROM outbox
      WHERE state = 'leased' AND has_waited = 0 AND id BETWEEN ?1 AND ?2)
    WHERE (?3 IS NULL OR partition = ?3)
      AND partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
    ORDER BY id LIMIT ?4
    """

  /// Number, partition or NULL. Number, partition.
  private static let byNumber: SQL = """
    SELECT number, partition, id FROM outbox WHERE number = ?1 AND (?2 IS NULL OR partition = ?2)
      AND partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
    """

  /// Number, partition or NULL: the mutations that had it and have ended. Those of an import keep the numbers
  /// that they had elsewhere.
  private static let endedByNumber: SQL = """
    SELECT number, partition, id FROM history WHERE number = ?1 AND (?2 IS NULL OR partition = ?2)
      AND partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
    ORDER BY id LIMIT ?3
    """

  /// Lowest and highest identifier, partition or NULL, limit: of ended mutations. Partition, id.
  private static let endedByID: SQL = """
    SELECT number, partition, id FROM history
    WHERE id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR partition = ?3)
      AND partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
    ORDER BY id LIMIT ?4
    """

  /// Number: the mutations that it needs. Id.
  private static let targets: SQL = """
    SELECT o.id FROM dependencies AS d JOIN outbox AS o ON o.number = d.target
    WHERE d.dependant = ? ORDER BY d.target
    """

  /// Number: the mutations that need it. Id.
  private static let dependants: SQL = """
    SELECT o.id FROM dependencies AS d JOIN outbox AS o ON o.number = d.dependant
    WHERE d.target = ? ORDER BY d.dependant
    """

  /// Reads everything that is known of a live or dead mutation.
  ///
  /// - Parameters:
  ///   - name: Its identifier, the beginning of it, or its number.
  ///   - partition: The account; nil: any.
  /// - Throws: `InspectionError`: not found, ambiguous, and what reading throws.
  package func mutation(
    named name: String, in partition: String? = nil
  ) throws(InspectionError) -> InspectedMutationDetail {
    try self.require(partition: partition)
    let found = try self.readIfThere(.mutations) { connection in
      let place = try Self.place(of: name, in: partition, endedToo: false, on: connection)
      let tables = try Self.tables(place.partition, on: connection)
      return try Self.mutation(place.number, tables, place.partition).map { mutation in
        InspectedMutationDetail(
          mutation: mutation, attempts: try tables.attempts(of: mutation.entry.id),
          dependencies: try connection.rows(Self.targets, place.number) { try $0.uuid(at: 0) },
          dependants: try connection.rows(Self.dependants, place.number) { try $0.uuid(at: 0) })
      }
    }
    guard let detail = found ?? nil else { throw .notFound("mutation \(name)") }
    return detail
  }

  /// Says in words what keeps a mutation from running, or what became of it.
  ///
  /// - Parameters:
  ///   - name: Its identifier, the beginning of it, or its number.
  ///   - partition: The account; nil: any.
  /// - Returns: The identifier, and a sentence.
  /// - Throws: `InspectionError`: not found, ambiguous, and what reading throws.
  package func why(
    _ name: String, in partition: String? = nil
  ) throws(InspectionError) -> (id: UUID, sentence: String) {
    try self.require(partition: partition)
    let found = try self.readIfThere(.mutations) { connection in
      let place = try Self.place(of: name, in: partition, endedToo: true, on: connection)
      let tables = try Self.tables(place.partition, on: connection)
      return (id: place.id, sentence: try tables.clause(of: place.id).description)
    }
    guard let found else { throw .notFound("mutation \(name)") }
    return found
  }

  /// Where a mutation is that a person names.
  private typealias Place = (number: Int64, partition: String, id: UUID)

  /// Finds the mutation that a person names. Digits alone are a number, unless none was given that is so
  /// high: that of a mutation that has ended is never the beginning of another one's identifier.
  private static func place(
    of name: String, in partition: String?, endedToo: Bool, on connection: SQLiteConnection
  ) throws -> Place {
    let all = try Self.partitions(on: connection)
    let wanted = partition.map { name in all.first { $0.name == name }?.id ?? -1 }
    func read(_ row: SQLiteStatement) throws -> Place {
      let partition = try row.integer(at: 1)
      let name = all.first { $0.id == partition }?.name ?? "?"
      return (try row.integer(at: 0), name, try row.uuid(at: 2))
    }
    var found = [Place]()
    var isNumber = false
    if let number = Self.number(name) {
      found = try connection.rows(Self.byNumber, number, wanted) { try read($0) }
      if found.isEmpty, endedToo {
        found = try connection.rows(Self.endedByNumber, number, wanted, 20) { try read($0) }
      }
      isNumber = try number <= OutboxPartitionRow.newestNumber(on: connection)
    }
    let digits = name.filter { $0 != "-" }
    if found.isEmpty, !isNumber, let range = InspectedHash.range(ofPrefix: digits) {
      found = try connection.rows(Self.byID, range.lowest, range.highest, wanted, 20) {
        try read($0)
      }
      if endedToo {
        found += try connection.rows(Self.endedByID, range.lowest, range.highest, wanted, 20) {
          try read($0)
        }
      }
    }
    guard let first = found.first else { throw InspectionError.notFound("mutation \(name)") }
    if found.count == 1 { return first }
    throw InspectionError.ambiguous(name, candidates: found.map { $0.id.uuidString.lowercased() })
  }

  /// The number that a text is; nil if it can only be the beginning of an identifier.
  private static func number(_ text: String) -> Int64? {
    guard let number = Int64(text), number > 0, "\(number)" == text else { return nil }
    return number
  }
}

// MARK: - What belongs to them

extension StoreInspection {
  /// Partition: which mutation needs which.
  private static let edges: SQL = """
    SELECT d.dependant, d.target FROM dependencies AS d JOIN outbox AS o ON o.number = d.dependant
    WHERE o.partition = ? ORDER BY d.dependant, d.target
    """

  /// Partition.
  private static let aliases: SQL = """
    SELECT alias, value, publisher, published_at FROM aliases WHERE partition = ?
    ORDER BY published_at, id
    """

  /// Which mutations need which.
  ///
  /// - Throws: `InspectionError`.
  package func dependencies(
    in partition: String? = nil
  ) throws(InspectionError) -> [InspectedDependency] {
    try self.require(partition: partition)
    let found = try self.readIfThere(.mutations) { connection in
      try Self.partitions(partition, on: connection).flatMap { id, name in
        try connection.rows(Self.edges, id) { row in
          InspectedDependency(
            partition: name, dependant: try row.integer(at: 0), target: try row.integer(at: 1))
        }
      }
    }
    return found ?? []
  }

  /// The names that mutations have published.
  ///
  /// - Throws: `InspectionError`.
  package func aliases(in partition: String? = nil) throws(InspectionError) -> [InspectedAlias] {
    try self.require(partition: partition)
    let found = try self.readIfThere(.mutations) { connection in
      try Self.partitions(partition, on: connection).flatMap { id, name in
        try connection.rows(Self.aliases, id) { row in
          InspectedAlias(
            partition: name, alias: try row.text(at: 0), value: try row.text(at: 1),
            publisher: try row.uuid(at: 2), publishedAt: try row.integer(at: 3))
        }
      }
    }
    return found ?? []
  }
}
