import ToolSupport

/// The options of the commands.
enum Options {
  /// The account. This tool covers all of them, while the other tools work on one.
  static let partition = ToolOption(
    "partition", "p", .text, "NAME", "only this partition, by default all of them")

  static let kind = ToolOption(
    "kind", "k", .text, "KIND", "only entries of this kind, as query or infinite")
  static let matching = ToolOption(
    "matching", "m", .text, "PREFIX",
    "only identities that begin so: with a path, as [\"notes\"], or with a text")
  static let invalidated = ToolOption(
    "invalidated", nil, .flag, "", "only entries that were marked as stale")
  static let failed = ToolOption(
    "failed", nil, .flag, "", "only entries whose newest result is an error")
  static let sort = ToolOption(
    "sort", nil, .words(["size", "age", "used", "identity"]), "ORDER",
    "largest first, oldest first, used longest ago first, or by identity (default)")
  static let limit = ToolOption("limit", "n", .integer(1...1_000_000_000), "N", "at most N of them")
  static let value = ToolOption("value", nil, .flag, "", "print the bytes of the value alone")
  static let withPending = ToolOption(
    "with-pending", nil, .flag, "", "with the mutations whose edits are laid over the value")
  static let page = ToolOption(
    "page", nil, .text, "ID", "print the value of a page: its id, or its place as #0")
  static let outbox = ToolOption(
    "outbox", nil, .flag, "", "with live and dead mutations, not only those that ended")
  static let output = ToolOption("output", "o", .file, "FILE", "write to this file")
  static let metricsFile = ToolOption(
    "out", nil, .file, "FILE", "write to this file, whole or not at all")
  static let requiredOutput = ToolOption(
    "output", "o", .file, "FILE", "write to this file", isRequired: true)
  static let yes = CommonOption.yes
  static let all = ToolOption("all", nil, .flag, "", "all of them")
  static let toBytes = ToolOption(
    "to-bytes", nil, .integer(0...Int.max), "N", "until a partition has at most N bytes")
  static let toEntries = ToolOption(
    "to-entries", nil, .integer(0...Int.max), "N", "until a partition has at most N entries")
  static let olderThan = ToolOption(
    "older-than", nil, .duration, "TIME", "those that were stored longer ago, as 30d or 12h")
  static let count = ToolOption(
    "count", nil, .integer(1...1_000_000_000), "N", "end after N changes")
}
