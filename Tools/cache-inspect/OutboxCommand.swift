import FoundationEssentials
import Query
import QueryInspection
import ToolSupport

/// `outbox`: mutations that are live or dead.
struct OutboxCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  /// Lists all of them.
  func list() throws -> ExitCode {
    let store = try self.invocation.inspection()
    var table = Table([
      Table.Column("NUMBER", .right, isOptional: true), Table.Column("NAME", isFlexible: true),
      Table.Column("LANE", isFlexible: true, isOptional: true), Table.Column("STATE"),
      Table.Column("REASON", isOptional: true),
      Table.Column("ATTEMPTS", .right, isOptional: true), Table.Column("NEXT", isOptional: true),
      // Whole whatever the width: it is what one copies.
      Table.Column("ID"),
    ])
    try store.mutations(in: self.invocation.partition) { mutation in
      if let json = self.invocation.json {
        try json.print(MutationJSON(mutation), to: self.invocation.output)
      } else {
        table.add(self.cells(mutation))
      }
    }
    if self.invocation.json == nil {
      try table.print(to: self.invocation.output, self.invocation.terminal)
    }
    return .success
  }

  private func cells(_ mutation: InspectedMutation) -> [Table.Cell] {
    let entry = mutation.entry
    let reason = entry.waitReason?.rawValue ?? entry.deadReason?.rawValue ?? "-"
    let next = entry.nextAttemptAt.map { Age.text(of: $0, at: self.invocation.now) }
    return [
      .init("\(entry.number)"), .init(entry.name), .init(entry.lane ?? "-"),
      .init(entry.state.rawValue, entry.state.style), .init(reason), .init("\(entry.attempts)"),
      .init(next ?? "-"), .init(MutationJSON.text(entry.id)),
    ]
  }

  /// Says what keeps one from being sent.
  func why() throws -> ExitCode {
    let store = try self.invocation.inspection()
    let (id, sentence) = try store.why(
      self.invocation.command.arguments[0], in: self.invocation.partition)
    if try self.invocation.printed(["id": MutationJSON.text(id), "why": sentence]) {
      return .success
    }
    try self.invocation.output.line("\(MutationJSON.text(id)): \(SafeText.escape(sentence))")
    return .success
  }
}

// MARK: - One

extension OutboxCommand {
  /// Shows all that is known of one.
  func show() throws -> ExitCode {
    let store = try self.invocation.inspection()
    let detail = try store.mutation(
      named: self.invocation.command.arguments[0], in: self.invocation.partition)
    let code = detail.mutation.isSound ? ExitCode.success : .badData
    if self.invocation.command.has(Options.value) {
      try self.invocation.output.write(bytes: detail.mutation.entry.arguments)
      return code
    }
    if try self.invocation.printed(MutationDetailView(detail)) { return code }
    try self.fields(detail).print(self.invocation)
    try self.invocation.output.line()
    let entry = detail.mutation.entry
    try ValuePrinter(output: self.invocation.output).print(entry.arguments, coder: entry.coder)
    if detail.attempts.isEmpty { return code }
    try self.invocation.output.line()
    try self.print(detail.attempts)
    return code
  }

  private func fields(_ detail: InspectedMutationDetail) -> FieldList {
    let (mutation, entry) = (detail.mutation, detail.mutation.entry)
    var fields = FieldList()
    fields.add("id", MutationJSON.text(entry.id))
    fields.add("number", "\(entry.number)")
    fields.add("partition", "\"\(mutation.partition)\"")
    fields.add("name", "\(entry.name), version \(entry.version)")
    fields.add("instance", entry.instance)
    fields.add("lane", entry.lane ?? "-")
    fields.add("host", entry.host ?? "-")
    fields.add("state", entry.state.rawValue)
    fields.add("waits for", entry.waitReason?.rawValue)
    fields.add("dead because", entry.deadReason?.rawValue)
    fields.add("next attempt", entry.nextAttemptAt.map { self.text($0) })
    fields.add("attempts", "\(entry.attempts), of which \(entry.failures) count as failures")
    fields.add("at most", entry.maxAttempts.map { "\($0) failures" })
    fields.add(
      "at most", entry.maxAge.map { Age.text(seconds: Double($0.components.seconds)) })
    fields.add("on failure", entry.onFailure.rawValue)
    fields.add("coalesce", mutation.coalesce)
    fields.add("maybe applied", entry.maybeApplied ? "yes" : "no")
    fields.add("crashes", "\(mutation.crashCount)")
    fields.add("idempotency key", entry.idempotencyKey)
    fields.add("enqueued", self.text(entry.createdAt))
    fields.add("last error", entry.lastError.map { "\($0)" })
    fields.add("runs in", mutation.leaseOwner.map { "the process of owner \($0)" })
    fields.add("alias", mutation.awaitedAlias)
    fields.add("body", mutation.bodyFile)
    for id in detail.dependencies { fields.add("needs", MutationJSON.text(id)) }
    for id in detail.dependants { fields.add("needed by", MutationJSON.text(id)) }
    fields.add("sound", mutation.isSound ? "yes" : "no")
    return fields
  }

  private func text(_ date: Date) -> String {
    Moments.both(Moments.microseconds(date), self.invocation)
  }

  private func print(_ attempts: [OutboxAttempt]) throws {
    var table = Table([
      Table.Column("ATTEMPT", .right), Table.Column("BEGAN"), Table.Column("TOOK", .right),
      Table.Column("OUTCOME"), Table.Column("CODE", .right),
      Table.Column("ERROR", isFlexible: true),
    ])
    for attempt in attempts {
      let began = Moments.microseconds(attempt.startedAt)
      let took = attempt.endedAt.map { max($0.timeIntervalSince(attempt.startedAt), 0) }
      table.add([
        .init("\(attempt.number)"), .init(Moments.text(began, self.invocation.dates)),
        .init(took.map { Age.text(seconds: $0) } ?? "-"),
        .init(attempt.outcome ?? "runs, or its process died"),
        .init(attempt.code.map { "\($0)" } ?? "-"), .init(attempt.error.map { "\($0)" } ?? ""),
      ])
    }
    try table.print(to: self.invocation.output, self.invocation.terminal)
  }
}

extension OutboxEntry.State {
  /// How it looks if there is colour.
  var style: TextStyle {
    switch self {
    case .pending: .warning
    case .leased: .good
    case .dead: .bad
    }
  }
}
