import FoundationEssentials
import QueryInspection
import ToolSupport

/// `remove`, `evict` and `vacuum`.
struct RemovingCommands {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  /// Removes an entry.
  func remove() throws -> ExitCode {
    let name = self.invocation.command.arguments[0]
    let found = try self.invocation.inspection().entry(named: name, in: self.invocation.partition)
    try Confirmation.require(
      "Remove \(found.hash.short) \(found.identity)?", self.invocation)
    // The one that was asked about: meanwhile another one with the same prefix may have come.
    let removed = try self.invocation.maintenance().remove(found)
    if try self.invocation.printed(EntryView(removed, now: self.invocation.nowMicroseconds)) {
      return .success
    }
    try self.invocation.output.line(
      "removed \(removed.hash.short) \(SafeText.escape(removed.identity))")
    return .success
  }

  /// Removes entries until limits hold, or those that are older than a time.
  func evict() throws -> ExitCode {
    let command = self.invocation.command
    let (bytes, entries) = (command.integer(Options.toBytes), command.integer(Options.toEntries))
    let age = command.duration(Options.olderThan)
    guard (bytes != nil || entries != nil) != (age != nil) else {
      throw command.usageError("give --to-bytes, --to-entries or both, or --older-than")
    }
    // Fails before the question if there is no store.
    _ = try self.invocation.inspection()
    try Confirmation.require("Remove entries from the store?", self.invocation)
    let store = try self.invocation.maintenance()
    let evicted: StoreMaintenance.Evicted
    if let age {
      let length = Int64(clampingOrZero: (age / .microseconds(1)).rounded())
      evicted = try store.evict(
        olderThan: self.invocation.nowMicroseconds - length, in: self.invocation.partition)
    } else {
      evicted = try store.evict(
        toBytes: bytes, entries: entries, in: self.invocation.partition)
    }
    let view = ["entries": evicted.entries, "byteCount": evicted.byteCount]
    if try self.invocation.printed(view) { return .success }
    try self.invocation.output.line(
      "removed \(evicted.entries) entries, \(ByteCount.text(evicted.byteCount))")
    return .success
  }

  /// Gives free room back.
  func vacuum() throws -> ExitCode {
    _ = try self.invocation.inspection()
    try Confirmation.require("Give the free room of the file back?", self.invocation)
    let pages = try self.invocation.maintenance().vacuum()
    if try self.invocation.printed(["pages": pages]) { return .success }
    try self.invocation.output.line("gave \(pages) pages back")
    return .success
  }
}
