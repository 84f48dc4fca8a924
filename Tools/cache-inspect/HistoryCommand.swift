import FoundationEssentials
import Query
import QueryInspection
import ToolSupport

/// `history`: mutations that ended.
struct HistoryCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() throws -> ExitCode {
    let store = try self.invocation.inspection()
    let hasSeveral = try self.invocation.partition == nil && store.partitions().count > 1
    let account = hasSeveral ? [Table.Column("PARTITION", isFlexible: true)] : []
    var table = Table(
      [Table.Column("ENDED"), Table.Column("NAME"), Table.Column("OUTCOME")] + account + [
        Table.Column("ATTEMPTS", .right), Table.Column("TOOK", .right), Table.Column("ID"),
        Table.Column("ERROR", isFlexible: true),
      ])
    try store.history(
      of: self.invocation.command.arguments.first, in: self.invocation.partition,
      limit: self.invocation.command.integer(Options.limit)
    ) { row in
      if let json = self.invocation.json {
        try json.print(HistoryView(row), to: self.invocation.output)
      } else {
        table.add(self.cells(row, hasSeveral))
      }
    }
    if self.invocation.json == nil {
      try table.print(to: self.invocation.output, self.invocation.terminal)
    }
    return .success
  }

  private func cells(_ row: InspectedHistory, _ namesAccount: Bool) -> [Table.Cell] {
    let took = row.duration.map { Age.text(seconds: max(Double($0) / 1e6, 0)) } ?? "-"
    let first = [
      Table.Cell(Moments.text(row.endedAt, self.invocation.dates)), Table.Cell(row.entry.name),
      Table.Cell(row.outcome, row.outcome == "succeeded" ? .good : .warning),
    ]
    return first + (namesAccount ? [.init(row.partition)] : []) + [
      .init("\(row.entry.attempts)"), .init(took), .init(MutationJSON.text(row.entry.id)),
      .init(row.entry.lastError.map { "\($0)" } ?? ""),
    ]
  }
}

/// A mutation that ended, in JSON.
private struct HistoryView: Encodable {
  private let facts: MutationJSON.Facts
  private let ending: Ending

  init(_ row: InspectedHistory) {
    self.facts = MutationJSON.Facts(
      row.entry, partition: row.partition, createdAt: Moments.exact(row.createdAt))
    self.ending = Ending(row)
  }

  /// Encodes one flat object.
  func encode(to encoder: any Encoder) throws {
    try self.facts.encode(to: encoder)
    try self.ending.encode(to: encoder)
  }

  private struct Ending: Encodable {
    let outcome: String
    let successor: String?
    let startedAt: String?
    let endedAt: String
    let durationMicroseconds: Int64?
    let errorType: String?
    let errorText: String?
    let byteCount: Int

    init(_ row: InspectedHistory) {
      self.outcome = row.outcome
      self.successor = row.successor.map { MutationJSON.text($0) }
      self.startedAt = Moments.exact(row.startedAt)
      self.endedAt = Moments.exact(row.endedAt)
      self.durationMicroseconds = row.duration
      self.errorType = row.entry.lastError?.typeName
      self.errorText = row.entry.lastError?.text
      self.byteCount = row.byteCount
    }
  }
}
