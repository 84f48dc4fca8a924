import QuerySQLite

// The tables of `mutations.sqlite` in an export.

extension ExportTable {
  /// Ended mutations. Read by partition, sequence and limit; the sequence follows the columns.
  static let ended = ExportTable(
    kind: .ended,
    columns: [
      .identifier("id"), .integer("number"), .text("idempotencyKey"), .text("name"),
      .text("instance"), .integer("version"), .text("lane").orNull, .text("outcome"),
      .identifier("successor").orNull, .integer("attempts"), .integer("maybeApplied"),
      .integer("createdAt"), .integer("startedAt").orNull, .integer("endedAt"),
      .text("errorType").orNull, .text("errorText").orNull, .text("effects").orNull,
      .integer("byteCount"), .text("coder"), .bytes("checksum"), .bytes("arguments"),
      .bytes("result").orNull,
    ],
    read: """
      SELECT id, number, idempotency_key, name, instance, version, lane, outcome, successor, attempts,
        maybe_applied, created_at, started_at, ended_at, error_type, error_text, effects, byte_count,
        coder, checksum, arguments, result, sequence
      FROM history WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?
      """,
    insert: """
      INSERT INTO history (partition, id, number, idempotency_key, name, instance, version, lane,
        outcome, successor, attempts, maybe_applied, created_at, started_at, ended_at, error_type,
        error_text, effects, byte_count, coder, checksum, arguments, result)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO NOTHING
      """)

  /// Attempts. Read by the mutation's identifier. They have no account: the first value of
  /// ``insert`` is not used.
  static let attempt = ExportTable(
    kind: .attempt,
    columns: [
      .identifier("mutation"), .integer("number"), .text("owner"), .integer("startedAt"),
      .integer("endedAt").orNull, .text("class").orNull, .integer("code").orNull,
      .text("errorType").orNull, .text("errorText").orNull, .text("idempotencyKey").orNull,
      .bytes("arguments").orNull,
    ],
    read: AttemptRow.read,
    insert: """
      INSERT INTO attempts (mutation, number, owner, started_at, ended_at, class, code, error_type,
        error_text, idempotency_key, arguments)
      SELECT ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 WHERE ?1 NOTNULL
      ON CONFLICT (mutation, number) DO NOTHING
      """)

  /// Live and dead mutations. Read by partition, number and limit. A running one is written as
  /// pending and maybe applied, since the process that runs it is not part of an export.
  static let mutation = ExportTable(
    kind: .mutation,
    columns: [
      .integer("number"), .identifier("id"), .text("idempotencyKey"), .text("name"),
      .text("instance"), .integer("version"), .text("lane").orNull, .text("host").orNull,
      .text("onFailure"), .integer("maxAttempts").orNull, .integer("maxAge").orNull,
      .text("coalesce"), .integer("createdAt"), .integer("ageAt"), .integer("ageBoottime"),
      .text("ageBootID"), .integer("ageIsSynchronised"), .text("state"),
      .text("waitReason").orNull, .text("deadReason").orNull, .integer("attempts"),
      .integer("failures"), .integer("crashCount"), .integer("maybeApplied"),
      .text("awaitedAlias").orNull, .integer("credentialsEpoch"), .integer("isCancelRequested"),
      .integer("dueAt").orNull, .integer("dueBoottime").orNull, .text("dueBootID").orNull,
      .integer("dueDelay").orNull, .integer("leaseToken"), .text("lastFailure").orNull,
      .integer("failedAt").orNull, .text("lastErrorType").orNull, .text("lastErrorText").orNull,
      .text("coder"), .text("bodyFile").orNull, .bytes("checksum"), .bytes("arguments"),
    ],
    read: """
      SELECT number, id, idempotency_key, name, instance, version, lane, host, on_failure,
        max_attempts, max_age, coalesce, created_at, age_at, age_boottime, age_boot_id,
        age_is_synchronised, CASE state WHEN 'leased' THEN 'pending' ELSE state END,
        CASE WHEN state <> 'leased' THEN wait_reason END, dead_reason, attempts, failures,
        crash_count, CASE state WHEN 'leased' THEN 1 ELSE maybe_applied END, awaited_alias,
        credentials_epoch, is_cancel_requested, CASE WHEN state <> 'leased' THEN due_at END,
        CASE WHEN state <> 'leased' THEN due_boottime END,
        CASE WHEN state <> 'leased' THEN due_boot_id END,
        CASE WHEN state <> 'leased' THEN due_delay END, lease_token, last_failure, failed_at,
        last_error_type, last_error_text, coder, body_file, checksum, arguments
      FROM outbox NOT INDEXED WHERE partition = ? AND number > ? ORDER BY number LIMIT ?
      """,
    insert: """
      INSERT INTO outbox (partition, number, id, idempotency_key, name, instance, version, lane, host,
        on_failure, max_attempts, max_age, coalesce, created_at, age_at, age_boottime, age_boot_id,
        age_is_synchronised, state, wait_reason, dead_reason, attempts, failures, crash_count,
        maybe_applied, awaited_alias, credentials_epoch, is_cancel_requested, due_at, due_boottime,
        due_boot_id, due_delay, lease_token, last_failure, failed_at, last_error_type,
        last_error_text, coder, body_file, checksum, arguments)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)

  /// Which mutation depends on which, by number. Read by partition.
  static let dependency = ExportTable(
    kind: .dependency,
    columns: [.integer("dependant"), .integer("target")],
    read: """
      SELECT d.dependant, d.target FROM dependencies AS d JOIN outbox AS o ON o.number = d.dependant
      WHERE o.partition = ? ORDER BY d.dependant, d.target
      """,
    insert: """
      INSERT INTO dependencies (dependant, target) SELECT ?2, ?3 WHERE ?1 NOTNULL
      """)

  /// Aliases: a client's names for the server's. Read by partition.
  static let alias = ExportTable(
    kind: .alias,
    columns: [
      .text("alias"), .text("value"), .identifier("publisher"), .integer("publishedAt"),
      .integer("newestNumber"),
    ],
    read: """
      SELECT alias, value, publisher, published_at, newest_number FROM aliases WHERE partition = ?
      ORDER BY id
      """,
    insert: """
      INSERT INTO aliases (partition, alias, value, publisher, published_at, newest_number)
      VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (partition, alias) DO NOTHING
      """)
}
