import FoundationEssentials
import Query
import QueryInspection
import ToolSupport

/// `metrics`: what a monitoring system watches, from the files alone.
struct MetricsCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() throws -> ExitCode {
    let text = try self.text()
    guard let path = self.invocation.command.text(Options.metricsFile) else {
      try self.invocation.output.write(text)
      return .success
    }
    // What reads it is another user, as node_exporter.
    let file = try NewFile(path, mode: 0o644)
    try file.write(Data(text.utf8))
    try file.finish()
    return .success
  }

  private func text() throws -> String {
    let store = try self.invocation.inspection()
    let now = self.invocation.nowMicroseconds
    let partition = self.invocation.partition
    let statistics = try store.statistics(in: partition, now: now, largest: 0)
    let mutations = try MutationMetrics(store, partition)
    // The tool's own label: a folder's path is nobody's business.
    var text = MetricsText(
      labels: self.invocation.command.text(CommonOption.application).map { ["application": $0] }
        ?? [:])
    mutations.add(to: &text, now: now)
    text.add("cache_bytes", "Bytes of the values on disk.", statistics.partitions.sum(\.byteCount))
    text.add("cache_entries", "Values on disk.", statistics.partitions.sum(\.entries))
    text.add(
      "quarantined", "Values that could not be read and were put aside.",
      statistics.partitions.sum(\.quarantined))
    Self.add(statistics.files, to: &text)
    text.add(
      "body_bytes", "Bytes of the files that go with mutations.", statistics.bodies.byteCount)
    text.add(
      "paused", "Whether sending is paused in an account.",
      statistics.partitions.contains { $0.pausedAt != nil } ? 1 : 0)
    text.add(
      "degraded", "Whether the store cannot be written: a full disk, a read-only file system.",
      store.canBeWritten ? 0 : 1)
    return text.text
  }

  private static func add(_ files: [StoreStatistics.File], to text: inout MetricsText) {
    func each(_ name: String, _ help: String, _ number: (StoreStatistics.File) -> Int) {
      text.add(
        name, help, files.map { (["file": String($0.name.prefix { $0 != "." })], number($0)) })
    }
    each("file_bytes", "Bytes of a database.") { $0.byteCount }
    each("wal_bytes", "Bytes of the log of a database.") { $0.logByteCount ?? 0 }
    each("set_aside_files", "Damaged or foreign databases that were set aside.") {
      $0.setAside.count
    }
  }
}

/// What the mutations of a store come to.
private struct MutationMetrics {
  private struct Group: Hashable {
    let state: String
    let reason: String
    let name: String
  }

  private var groups = [Group: Int]()
  private var dead = 0
  /// When the oldest one that is not sent was enqueued, seconds since 1970.
  private var oldest: Double?
  /// When the newest success was, microseconds since 1970.
  private var lastSuccess: Int64?

  init(_ store: StoreInspection, _ partition: String?) throws {
    try store.mutations(in: partition) { mutation in
      let entry = mutation.entry
      let reason = entry.waitReason?.rawValue ?? entry.deadReason?.rawValue ?? ""
      let group = Group(state: entry.state.rawValue, reason: reason, name: entry.name)
      self.groups[group, default: 0] += 1
      if entry.state == .dead {
        self.dead += 1
      } else {
        let date = entry.createdAt.timeIntervalSince1970
        self.oldest = min(self.oldest ?? date, date)
      }
    }
    try store.history(in: partition) { ended in
      guard ended.outcome == "succeeded" else { return }
      self.lastSuccess = max(self.lastSuccess ?? ended.endedAt, ended.endedAt)
    }
  }

  func add(to text: inout MetricsText, now: Int64) {
    let groups = self.groups.sorted {
      ($0.key.state, $0.key.reason, $0.key.name) < ($1.key.state, $1.key.reason, $1.key.name)
    }
    text.add(
      "outbox_rows", "Mutations that wait, run or are dead.",
      groups.map { group, count in
        (["state": group.state, "reason": group.reason, "name": group.name], count)
      })
    // In seconds; a clock that was set back makes no age negative.
    let age = self.oldest.map { max(Double(now) / 1e6 - $0, 0) } ?? 0
    text.add(
      "oldest_pending_seconds", "Age of the oldest mutation that is not sent; 0 if all are.",
      Int(min(age, 1e15)))
    text.add("dead_rows", "Mutations that a person has to retry or discard.", self.dead)
    if let lastSuccess {
      text.add(
        "last_success_timestamp", "When a mutation succeeded last, in seconds since 1970.",
        Int(lastSuccess / 1_000_000))
    }
  }
}
