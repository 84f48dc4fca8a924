import Foundation
import Query
import QueryReplay
import SystemJournal
import ToolSupport

/// Reports what a run does: as a bar on a terminal, as lines elsewhere, as objects if JSON is
/// requested.
struct RunReport {
  private let session: ReplaySession
  private let isOnce: Bool
  private let hasBar: Bool
  /// The journal, if systemd reads the output: each line is a message with fields there.
  private let journal: JournalQueryLogger?
  private let done = Locked(0)
  private let subscription: QuerySubscription
  private var bar = ProgressBar()
  private var shown = ""
  private var names = [UUID: String]()

  /// - Parameters:
  ///   - session: The store.
  ///   - isOnce: Whether the run ends by itself.
  init(_ session: ReplaySession, isOnce: Bool) {
    self.session = session
    self.isOnce = isOnce
    let invocation = session.invocation
    self.hasBar = invocation.terminal.isTerminal && invocation.json == nil
    let isRead = invocation.json == nil && JournalQueryLogger.isJournal(STDOUT_FILENO)
    self.journal = isRead ? JournalQueryLogger(identifier: "mutation-replay") : nil
    let done = self.done
    // Counted here, since a stream drops events if many come at once.
    self.subscription = session.outbox.subscribe { event in
      switch event {
      case .succeeded, .superseded: done.withLock { $0 += 1 }
      default: break
      }
    }
  }

  /// Notes how many mutations there are.
  ///
  /// - Throws: What printing throws.
  mutating func note(_ counts: OutboxCounts) throws {
    self.bar.waiting = counts.pending + counts.leased
    self.bar.dead = counts.dead
    try self.draw()
  }

  /// Notes what happened.
  ///
  /// - Throws: What printing throws.
  mutating func note(_ event: ReplayEvent) throws {
    guard let line = RunLine(event, self.session, names: &self.names) else { return }
    let invocation = self.session.invocation
    if let json = invocation.json {
      try json.print(line.row, to: invocation.output)
      try invocation.output.flush()
      return
    }
    if let journal {
      journal.log(level: line.level, fields: line.fields, message: line.text)
    } else if self.hasBar {
      self.bar.note = line.text
      if line.isKept { try self.printAbove(line.text) }
      try self.draw()
    } else {
      try invocation.output.line("\(invocation.dates.text(Date())) \(line.text)")
      try invocation.output.flush()
    }
  }

  /// Says how the run ended.
  ///
  /// - Parameters:
  ///   - summary: What it has done; nil if it ran until a signal ended it.
  ///   - others: The rows that it left to other programs.
  /// - Throws: What printing throws.
  mutating func end(_ summary: ReplaySummary?, others: OtherRows) throws {
    let invocation = self.session.invocation
    self.subscription.cancel()
    if let json = invocation.json {
      if let summary { try json.print(SummaryRow(summary, others.kinds), to: invocation.output) }
      return
    }
    if self.hasBar {
      self.bar.note = ""
      self.bar.done = self.done.withLock { $0 }
      try invocation.output.line("\r\(self.bar.text(invocation.terminal))\u{1b}[K")
    } else if let summary {
      try invocation.output.line(
        "\(summary.succeeded) sent, \(summary.failed) failed, \(summary.waiting) waiting, "
          + "\(summary.dead) dead")
    }
    for line in others.lines { try invocation.output.line(line) }
  }

  private mutating func draw() throws {
    guard self.hasBar else { return }
    self.bar.done = self.done.withLock { $0 }
    let invocation = self.session.invocation
    // The size of a terminal may change.
    let line = self.bar.line(Terminal())
    guard line != self.shown else { return }
    self.shown = line
    try invocation.output.write(line)
    try invocation.output.flush()
  }

  private mutating func printAbove(_ text: String) throws {
    try self.session.invocation.output.write("\r\u{1b}[K\(text)\n")
    self.shown = ""
  }

  private struct SummaryRow: Encodable {
    var event = "ended"
    var succeeded: Int
    var failed: Int
    var waiting: Int
    var dead: Int
    var others: [OtherRows.Kind]

    init(_ summary: ReplaySummary, _ others: [OtherRows.Kind]) {
      self.succeeded = summary.succeeded
      self.failed = summary.failed
      self.waiting = summary.waiting
      self.dead = summary.dead
      self.others = others
    }
  }
}
