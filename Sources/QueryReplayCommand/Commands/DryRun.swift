import Foundation
import Query
import QuerySQLite
import SystemNetwork
import ToolSupport

/// `run --dry-run`: the order in which it would send.
struct DryRun {
  let session: ReplaySession

  /// - Parameter session: The store.
  init(_ session: ReplaySession) { self.session = session }

  /// Prints it.
  ///
  /// - Throws: `StorageError`; what printing throws.
  func run() throws -> ExitCode {
    let invocation = self.session.invocation
    let live = try self.session.outbox.entries().filter { $0.state != .dead || $0.holdsLane }
    let dependencies = try self.session.storage.mutationDependencies()
    var plan = SendingPlan(live, dependencies: dependencies) { self.session.canSend($0) }
    plan.keep(
      lane: invocation.command.text(RunOption.lane),
      maximum: invocation.command.integer(RunOption.maximum))
    if let json = invocation.json {
      for entry in plan.order {
        try json.print(self.session.json(entry), to: invocation.output)
      }
      return .success
    }
    try self.print(plan, live)
    return .success
  }

  private func print(_ plan: SendingPlan, _ live: [OutboxEntry]) throws {
    let invocation = self.session.invocation
    if plan.order.isEmpty {
      try invocation.output.line("Nothing would be sent.")
    } else {
      var table = Table([
        .init("#", .right), .init("ID"), .init("NAME", isFlexible: true),
        .init("HOST", isFlexible: true), .init("LANE", isFlexible: true),
        .init("ATTEMPTS", .right), .init("CREATED"),
      ])
      for (index, entry) in plan.order.enumerated() {
        table.add([
          .init("\(index + 1)"), .init(entry.idText), .init(entry.name),
          .init(entry.effectiveHost), .init(entry.lane ?? "–"), .init("\(entry.attempts)"),
          .init(Age.text(of: entry.createdAt, at: invocation.now), .faint),
        ])
      }
      try table.print(to: invocation.output, invocation.terminal)
    }
    if self.session.network.currentStatus < .connected {
      let words = "The network is down: until it is back nothing is sent."
      try invocation.output.line(invocation.terminal.styled(words, .warning))
    }
    for (reason, count) in plan.waiting.sorted(by: { $0.key < $1.key }) {
      try invocation.output.line("\(count) would go on waiting: \(reason)")
    }
    let others = OtherRows(live.filter { $0.state != .dead }, self.session)
    for line in others.lines { try invocation.output.line(line) }
  }
}

extension OutboxEntry {
  /// Whether the rows behind it in its lane wait for it although it is dead.
  var holdsLane: Bool { self.state == .dead && self.onFailure == .halt && self.lane != nil }
}
