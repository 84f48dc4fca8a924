import FoundationEssentials
import Glibc
import Query
import QueryInspection
import ToolSupport

/// `watch`: changes as they happen.
struct WatchCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() async throws -> ExitCode {
    let store = try self.invocation.inspection()
    let changes = try store.changes(in: self.invocation.partition)
    let hasEnded = Locked(false)
    let signals = EndSignals()
    let waiting = Task { for await _ in signals.stream { hasEnded.withLock { $0 = true } } }
    defer { waiting.cancel() }
    // A script that starts the tool may make changes from now on, and see them.
    Output.error("cache-inspect: watching; Ctrl-C ends it")
    var left = self.invocation.command.integer(Options.count) ?? .max
    while left > 0, !hasEnded.withLock({ $0 }) {
      for change in try changes.next(waiting: .milliseconds(200)) where left > 0 {
        try self.print(change)
        left -= 1
      }
      try self.invocation.output.flush()
      if Self.hasReaderGone { throw Output.ClosedPipe() }
    }
    return .success
  }

  /// Whether the reader of standard output has gone; a write would find out only at the next
  /// change.
  private static var hasReaderGone: Bool {
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    return poll(&output, 1, 0) > 0 && output.revents & Int16(POLLERR) != 0
  }

  private func print(_ change: InspectedChange) throws {
    let now = Int64(Date().timeIntervalSince1970 * 1e6)
    if try self.invocation.printed(ChangeView(change, at: now)) { return }
    let time = Moments.text(now, self.invocation.dates)
    try self.invocation.output.line("\(time)  \(SafeText.escape(Self.text(change)))")
  }

  private static func text(_ change: InspectedChange) -> String {
    func place(_ partition: String) -> String {
      partition.isEmpty ? "" : " in \"\(partition)\""
    }
    switch change {
    case .entry(let partition, let identity, let hash, let revision):
      return "entry    \(hash.short) \(identity) has revision \(revision)\(place(partition))"
    case .removed(let partition, let count):
      return "removed  \(count) \(count == 1 ? "entry" : "entries")\(place(partition))"
    case .outbox(let partition, let pending, let leased, let dead, let ended):
      return "outbox   \(pending) wait, \(leased) run, \(dead) dead, \(ended) ended"
        + place(partition)
    case .file(let name, let isThere):
      return "file     \(name) \(isThere ? "was made" : "was removed")"
    }
  }
}

/// A change in JSON.
private struct ChangeView: Encodable {
  var at: String
  var kind: String
  var partition: String?
  var identity: String?
  var hash: String?
  var revision: Int64?
  var count: Int?
  var pending: Int?
  var leased: Int?
  var dead: Int?
  var ended: Int?
  var file: String?
  var isThere: Bool?

  init(_ change: InspectedChange, at now: Int64) {
    self.at = Moments.exact(now)
    switch change {
    case .entry(let partition, let identity, let hash, let revision):
      self.kind = "entry"
      (self.partition, self.identity) = (partition, identity)
      (self.hash, self.revision) = (hash.description, revision)
    case .removed(let partition, let count):
      (self.kind, self.partition, self.count) = ("removed", partition, count)
    case .outbox(let partition, let pending, let leased, let dead, let ended):
      (self.kind, self.partition) = ("outbox", partition)
      (self.pending, self.leased, self.dead, self.ended) = (pending, leased, dead, ended)
    case .file(let name, let isThere):
      (self.kind, self.file, self.isThere) = ("file", name, isThere)
    }
  }
}
