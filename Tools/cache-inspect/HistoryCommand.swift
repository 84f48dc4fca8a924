import Foundation
import Query
import QueryInspection
import ToolSupport

/// `history`: mutations that ended.
struct HistoryCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() throws -> ExitCode {
    let store = try self.invocation.inspection()
    var table = Table([
      Table.Column("ENDED"), Table.Column("NAME"), Table.Column("OUTCOME"),
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
        table.add(self.cells(row))
      }
    }
    if self.invocation.json == nil {
      try table.print(to: self.invocation.output, self.invocation.terminal)
    }
    return .success
  }

  private func cells(_ row: InspectedHistory) -> [Table.Cell] {
    let took = row.duration.map { Age.text(seconds: max(Double($0) / 1e6, 0)) } ?? "-"
    return [
      .init(Moments.text(row.endedAt, self.invocation.dates)), .init(row.name),
      .init(row.outcome, row.outcome == "succeeded" ? .good : .warning), .init("\(row.attempts)"),
      .init(took), .init(MutationJSON.text(row.id)), .init(row.error.map { "\($0)" } ?? ""),
    ]
  }
}

/// A mutation that ended, in JSON.
private struct HistoryView: Encodable {
  let partition: String
  let id: String
  let number: Int64
  let name: String
  let instance: String
  let version: Int
  let lane: String?
  let outcome: String
  let successor: String?
  let attempts: Int
  let maybeApplied: Bool
  let createdAt: String
  let startedAt: String?
  let endedAt: String
  let durationMicroseconds: Int64?
  let errorType: String?
  let errorText: String?
  let byteCount: Int

  init(_ row: InspectedHistory) {
    self.partition = row.partition
    self.id = MutationJSON.text(row.id)
    self.number = row.number
    self.name = row.name
    self.instance = row.instance
    self.version = row.version
    self.lane = row.lane
    self.outcome = row.outcome
    self.successor = row.successor.map { MutationJSON.text($0) }
    self.attempts = row.attempts
    self.maybeApplied = row.maybeApplied
    self.createdAt = Moments.exact(row.createdAt)
    self.startedAt = Moments.exact(row.startedAt)
    self.endedAt = Moments.exact(row.endedAt)
    self.durationMicroseconds = row.duration
    self.errorType = row.error?.typeName
    self.errorText = row.error?.text
    self.byteCount = row.byteCount
  }
}
