package import FoundationEssentials
import Query
import QuerySQLite

/// What is laid over the value of an entry: the edits of mutations that the value does not include.
package struct InspectedOverlay: Hashable, Sendable {
  /// How much of the outbox's history the value includes; nil: unknown, and only live mutations are laid
  /// over it.
  package let mark: Int64?
  /// The keys of the mutations that the value includes, according to its server.
  package let includedKeys: [String]
  /// The mutations, in the order in which their edits are made.
  package let mutations: [LaidMutation]
}

/// A mutation with edits.
package struct LaidMutation: Hashable, Sendable {
  /// Where it stands.
  package enum Standing: String, Hashable, Sendable {
    /// The server has carried it out.
    case acknowledged
    /// It is being sent.
    case running
    /// It waits.
    case waiting
    /// It is kept for a person: only an edit of `whenDead: .kept` is made.
    case dead
  }

  /// The mutation's identifier.
  package let id: UUID
  /// Its number in the order of enqueueing.
  package let number: Int64
  /// The name that it was persisted as.
  package let name: String
  /// Where it stands.
  package let standing: Standing
  /// Its place in the order of ends; nil: it is live or dead.
  package let sequence: Int64?
  /// How many attempts were begun.
  package let attempts: Int64
  /// When it was enqueued, microseconds since 1970.
  package let createdAt: Int64
  let key: String
  let paths: EditedPaths

  fileprivate init(_ row: SQLiteStatement) throws {
    self.id = try row.uuid(at: 0)
    self.number = try row.integer(at: 1)
    self.name = try row.text(at: 2)
    self.key = try row.text(at: 3)
    self.attempts = try row.integer(at: 4)
    self.createdAt = try row.integer(at: 5)
    self.paths = EditedPaths(text: try row.text(at: 6))
    self.sequence = try row.optionalInteger(at: 7)
    self.standing =
      switch try row.text(at: 8) {
      case "succeeded": .acknowledged
      case "leased": .running
      case "dead": .dead
      default: .waiting
      }
  }

  /// Whether it is laid over a value.
  func isLaid(over mark: Int64?, _ includedKeys: Set<String>) -> Bool {
    if let sequence, sequence <= mark ?? .max { return false }
    return !includedKeys.contains(self.key)
  }
}

extension StoreInspection {
  /// Partition: the mutations with edits, in the order in which the edits are made.
  private static let laid: SQL = """
    SELECT id, number, name, idempotency_key, attempts, created_at, edited_paths, sequence, outcome
    FROM (
      SELECT 0 AS part, sequence AS place, id, number, name, idempotency_key, attempts, created_at,
        edited_paths, sequence, outcome
      FROM history NOT INDEXED
      WHERE partition = ?1 AND outcome = 'succeeded' AND edited_paths IS NOT NULL
      UNION ALL
      SELECT 1, number, id, number, name, idempotency_key, attempts, created_at, edited_paths, NULL,
        state
      FROM outbox NOT INDEXED WHERE partition = ?1 AND edited_paths IS NOT NULL)
    ORDER BY part, place
    """

  /// Id.
  private static let mark: SQL = "SELECT outbox_sequence, included_keys FROM entries WHERE id = ?"

  /// Partition, lowest identity, end.
  private static let marks: SQL = """
    SELECT id, identity, outbox_sequence, included_keys FROM entries INDEXED BY entries_by_identity
    WHERE partition = ? AND identity >= ? AND identity < ?
    """

  private func laidMutations(in partition: String) throws(InspectionError) -> [LaidMutation] {
    try self.readIfThere(.mutations) { connection in
      try Self.partitions(partition, on: connection).flatMap { id, _ in
        try connection.rows(Self.laid, id) { try LaidMutation($0) }
          .placingDead({ $0.standing == .dead }, number: \.number)
      }
    } ?? []
  }

  /// Finds out what is laid over the value of an entry.
  ///
  /// - Throws: `InspectionError`.
  package func overlay(of entry: InspectedEntry) throws(InspectionError) -> InspectedOverlay {
    let found = try self.cacheFile.read { connection in
      try connection.first(Self.mark, entry.id) {
        (try $0.optionalInteger(at: 0), Self.keys(try $0.optionalText(at: 1)))
      }
    }
    let (mark, keys) = found ?? (nil, [])
    let identity = QueryIdentity(canonicalText: entry.identity)
    let mutations = try self.laidMutations(in: entry.partition).filter {
      $0.isLaid(over: mark, Set(keys)) && $0.paths.covers(identity)
    }
    return InspectedOverlay(mark: mark, includedKeys: keys, mutations: mutations)
  }

  /// How many mutations are laid over each entry that has any, by the number of its row.
  ///
  /// - Throws: `InspectionError`.
  package func overlayCounts(
    in partition: String? = nil
  ) throws(InspectionError) -> [Int64: Int] {
    var counts = [Int64: Int]()
    for name in try self.partitions() where partition == nil || name == partition {
      let mutations = Dictionary(grouping: try self.laidMutations(in: name), by: \.paths)
      if mutations.isEmpty { continue }
      let found = try self.readIfThere(.cache) { connection in
        try Self.partitions(name, on: connection).first.map { id, _ in
          try Self.counts(of: mutations, in: id, on: connection)
        }
      }
      if let found = found ?? nil { counts.merge(found, uniquingKeysWith: +) }
    }
    return counts
  }

  private static func counts(
    of mutations: [EditedPaths: [LaidMutation]], in partition: Int64,
    on connection: SQLiteConnection
  ) throws -> [Int64: Int] {
    var counts = [Int64: Int]()
    for (paths, mutations) in mutations {
      // Two paths may find a query that was persisted under a name.
      var entries = Set<Int64>()
      for range in paths.prefixes.flatMap(\.ranges) {
        try connection.withStatement(Self.marks) { row in
          try row.bindAll(partition, range.lower, range.upper)
          while try row.step() {
            let id = try row.integer(at: 0)
            guard paths.covers(QueryIdentity(canonicalText: try row.text(at: 1))),
              entries.insert(id).inserted
            else { continue }
            let mark = try row.optionalInteger(at: 2)
            let keys = Set(self.keys(try row.optionalText(at: 3)))
            counts[id, default: 0] += mutations.count { $0.isLaid(over: mark, keys) }
          }
        }
      }
    }
    return counts.filter { $0.value > 0 }
  }

  private static func keys(_ text: String?) -> [String] {
    text?.split(separator: "\n").map(String.init) ?? []
  }
}
