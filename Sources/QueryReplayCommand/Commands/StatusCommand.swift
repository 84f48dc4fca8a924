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
    var isPaused: Bool
    /// What is paused apart from everything; nil if nothing is.
    var pauses: [Pause]?
    var oldestAt: Date?
    var lanes: [LaneGroup]
    var others: [OtherRows.Kind]
  }

  /// What is paused, and since when.
  private struct Pause: Encodable {
    var part: String
    var value: String
    var since: Date

    var pause: OutboxPause? { OutboxPause(part: self.part, value: self.value) }
  }

  /// Prints it.
  ///
  /// - Throws: `StorageError`; what printing throws.
  func run() throws -> ExitCode {
    let outbox = self.session.outbox
    let report = self.report(try outbox.entries(), pauses: try outbox.pauses)
    let invocation = self.session.invocation
    if let json = invocation.json {
      try json.print(report, to: invocation.output)
    } else {
      try self.print(report)
    }
    return .success
  }

  private func report(_ entries: [OutboxEntry], pauses: [OutboxPause: Date]) -> Report {
    let live = entries.filter { $0.state != .dead }
    let pending = entries.filter { $0.state == .pending }
    let parts = pauses.compactMap { pause, date in
      pause.words.map { Pause(part: $0.part, value: $0.value, since: date) }
    }.sorted { ($0.part, $0.value) < ($1.part, $1.value) }
    return Report(
      store: self.session.owner, partition: self.session.partition,
      network: Self.words(self.session.network.currentStatus), pending: pending.count,
      leased: live.count - pending.count, dead: entries.count - live.count,
      isPaused: pauses[.everything] != nil, pauses: parts.isEmpty ? nil : parts,
      oldestAt: live.map(\.createdAt).min(),
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
    if report.isPaused {
      try output.line(
        invocation.terminal.styled("It is paused: nothing is sent until “resume”.", .warning))
    }
    for pause in report.pauses ?? [] {
      guard let words = pause.pause else { continue }
      let age = Age.text(of: pause.since, at: invocation.now)
      let line = "\(SafeText.escape("\(words)")) is paused, \(age), until “resume”."
      try output.line(invocation.terminal.styled(line, .warning))
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
