import Foundation
import Query
import SystemNetwork
import ToolSupport

/// `status`: what waits, for what, and what is dead.
struct StatusCommand {
  let session: ReplaySession

  /// - Parameter session: The store.
  init(_ session: ReplaySession) { self.session = session }

  private struct Report: Encodable {
    var store: String
    var partition: String
    var network: String
    var pending: Int
    var leased: Int
    var dead: Int
    /// nil if nothing is pending, since nothing shows it then.
    var isPaused: Bool?
    var oldestAt: Date?
    var lanes: [LaneGroup]
    var others: [OtherRows.Kind]
  }

  /// Prints it.
  ///
  /// - Throws: `StorageError`; what printing throws.
  func run() throws -> ExitCode {
    let entries = try self.session.outbox.entries()
    let report = self.report(entries)
    let invocation = self.session.invocation
    if let json = invocation.json {
      try json.print(report, to: invocation.output)
    } else {
      try self.print(report)
    }
    return .success
  }

  private func report(_ entries: [OutboxEntry]) -> Report {
    let live = entries.filter { $0.state != .dead }
    let pending = entries.filter { $0.state == .pending }
    let isPaused = pending.contains { $0.waitReason == .paused }
    return Report(
      store: self.session.owner, partition: self.session.partition,
      network: Self.words(self.session.network.currentStatus), pending: pending.count,
      leased: live.count - pending.count, dead: entries.count - live.count,
      isPaused: pending.isEmpty ? nil : isPaused, oldestAt: live.map(\.createdAt).min(),
      lanes: LaneGroup.groups(of: entries) { self.session.canSend($0) },
      others: OtherRows(live, self.session).kinds)
  }

  private static func words(_ status: NetworkConnectionStatus) -> String {
    switch status {
    case .connected: "connected"
    case .requiresConnection: "requiresConnection"
    case .disconnected: "disconnected"
    }
  }

  private func print(_ report: Report) throws {
    let invocation = self.session.invocation
    let output = invocation.output
    try output.line(
      "\(report.pending) waiting, \(report.leased) running, \(report.dead) dead in the outbox of "
        + SafeText.escape(report.store))
    if let date = report.oldestAt {
      let age = Age.text(of: date, at: invocation.now)
      try output.line("The oldest is of \(invocation.dates.text(date)), \(age).")
    }
    if report.isPaused == true {
      try output.line(
        invocation.terminal.styled("It is paused: nothing is sent until “resume”.", .warning))
    }
    if report.network != "connected" {
      try output.line(invocation.terminal.styled("The network is down.", .warning))
    }
    if !report.lanes.isEmpty {
      try output.line()
      try LaneGroup.table(report.lanes, invocation).print(to: output, invocation.terminal)
    }
    let others = OtherRows(report.others)
    if !others.lines.isEmpty { try output.line() }
    for line in others.lines { try output.line(line) }
  }
}
