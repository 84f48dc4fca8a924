import QuerySQLite

/// The tables of `mutations.sqlite` in an export. Their columns are those of the schema: a new one
/// is exported and imported without a line here, unless it is one of the exceptions.
struct ExportSchema: Sendable {
  /// Live and dead mutations. Read by partition, number and limit. A running one is written as
  /// pending and maybe applied, since the process that runs it is not part of an export.
  let mutation: ExportTable

  /// Ended mutations. Read by partition, sequence and limit; the sequence follows the columns.
  let ended: ExportTable

  /// Attempts. Read by the mutation's identifier.
  let attempt: ExportTable

  /// Which mutation depends on which, by number. Read by partition.
  let dependency: ExportTable

  /// Aliases: a client's names for the server's. Read by partition.
  let alias: ExportTable

  /// Ended mutations that the history has forgotten. Read by partition, sequence and limit; the
  /// sequence follows the columns.
  let forgotten: ExportTable

  /// What is paused apart from all of an account. Read by partition.
  let pause: ExportTable

  /// That of this release.
  static let current = Result { try ExportSchema() }

  private init() throws {
    let schema = try OutboxSchema()
    let outbox = Part(
      .mutation, schema, "outbox", identifiers: ["id"],
      except: [
        "lease_owner", "lease_end_monotonic", "lease_boot_id", "attempt_started_at",
        "has_waited", "is_suspect", "lease_started_monotonic",
      ])
    let pending: [String: SQL.Words] = [
      "state": "CASE state WHEN 'leased' THEN 'pending' ELSE state END",
      "wait_reason": "CASE WHEN state <> 'leased' THEN wait_reason END",
      "maybe_applied": "CASE state WHEN 'leased' THEN 1 ELSE maybe_applied END",
      "due_at": "CASE WHEN state <> 'leased' THEN due_at END",
      "due_boottime": "CASE WHEN state <> 'leased' THEN due_boottime END",
      "due_boot_id": "CASE WHEN state <> 'leased' THEN due_boot_id END",
      "due_delay": "CASE WHEN state <> 'leased' THEN due_delay END",
    ]
    self.mutation = outbox.table(
      read: SQL(
        assembling: """
          SELECT \(outbox.columns.list(replacing: pending)) FROM outbox NOT INDEXED
          WHERE partition = ? AND number > ? ORDER BY number LIMIT ?
          """),
      insert: SQL(assembling: "INSERT INTO outbox \(outbox.values)"))
    let history = Part(
      .ended, schema, "history", identifiers: ["id", "successor"], except: ["sequence"])
    self.ended = history.table(
      read: SQL(
        assembling: """
          SELECT \(history.columns.list), sequence FROM history
          WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?
          """),
      insert: SQL(
        assembling: "INSERT INTO history \(history.values) ON CONFLICT (id) DO NOTHING"))
    let attempts = Part(.attempt, schema, "attempts", identifiers: ["mutation"], except: ["id"])
    self.attempt = attempts.table(
      read: AttemptRow.read,
      insert: SQL(
        assembling: """
          INSERT INTO attempts \(attempts.values) ON CONFLICT (mutation, number) DO NOTHING
          """))
    let dependencies = Part(.dependency, schema, "dependencies")
    self.dependency = dependencies.table(
      read: """
        SELECT d.dependant, d.target FROM dependencies AS d JOIN outbox AS o ON o.number = d.dependant
        WHERE o.partition = ? ORDER BY d.dependant, d.target
        """,
      insert: SQL(assembling: "INSERT INTO dependencies \(dependencies.values)"))
    let aliases = Part(.alias, schema, "aliases", identifiers: ["publisher"], except: ["id"])
    self.alias = aliases.table(
      read: SQL(
        assembling: "SELECT \(aliases.columns.list) FROM aliases WHERE partition = ? ORDER BY id"),
      insert: SQL(
        assembling: """
          INSERT INTO aliases \(aliases.values) ON CONFLICT (partition, alias) DO NOTHING
          """))
    let forgotten = Part(.forgotten, schema, "forgotten", identifiers: ["id", "successor"])
    self.forgotten = forgotten.table(
      read: SQL(
        assembling: """
          SELECT \(forgotten.columns.list), sequence FROM forgotten
          WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?
          """),
      insert: SQL(
        assembling: "INSERT INTO forgotten \(forgotten.values) ON CONFLICT (id) DO NOTHING"))
    let pauses = Part(.pause, schema, "pauses")
    self.pause = pauses.table(
      read: SQL(
        assembling: """
          SELECT \(pauses.columns.list) FROM pauses WHERE partition = ? ORDER BY part, value
          """),
      insert: SQL(assembling: "INSERT INTO pauses \(pauses.values) ON CONFLICT DO NOTHING"))
  }
}

/// What an export has of one table.
private struct Part {
  /// The columns that are exported: all but the exceptions, and the partition.
  let columns: SQLColumns
  private let kind: ExportLine.Kind
  private let exported: [ExportTable.Column]
  private let hasPartition: Bool

  /// - Parameters:
  ///   - table: The name of the table.
  ///   - identifiers: The columns whose bytes are written as a UUID.
  ///   - exceptions: The columns that are left out.
  init(
    _ kind: ExportLine.Kind, _ schema: OutboxSchema, _ table: String, identifiers: [String] = [],
    except exceptions: [String] = []
  ) {
    let all = schema.columns(of: table)
    let columns = all.filter { $0.name != "partition" && !exceptions.contains($0.name) }
    self.kind = kind
    self.columns = SQLColumns(columns.map(\.name))
    self.hasPartition = all.contains { $0.name == "partition" }
    self.exported = columns.map { column in
      ExportTable.Column(
        Self.key(of: column.name),
        identifiers.contains(column.name) ? .identifier : ExportValue.Kind(column),
        isOptional: column.isOptional)
    }
  }

  /// The columns and placeholders of an `INSERT`.
  var values: SQL.Words {
    (self.hasPartition ? ["partition"] + self.columns : self.columns).values
  }

  func table(read: SQL, insert: SQL) -> ExportTable {
    ExportTable(
      kind: self.kind, columns: self.exported, read: read, insert: insert,
      hasPartition: self.hasPartition)
  }

  /// The name of a column in a line: `age_boot_id` is `ageBootID`.
  private static func key(of column: String) -> String {
    let words = column.split(separator: "_")
    return words.enumerated().map { index, word in
      if index == 0 { return String(word) }
      return word == "id" ? "ID" : word.prefix(1).uppercased() + word.dropFirst()
    }.joined()
  }
}

extension ExportValue.Kind {
  /// The type of a column, of which STRICT tables have these alone.
  fileprivate init(_ column: OutboxSchema.Column) {
    switch column.type {
    case "INTEGER": self = .integer
    case "TEXT": self = .text
    default: self = .bytes
    }
  }
}
