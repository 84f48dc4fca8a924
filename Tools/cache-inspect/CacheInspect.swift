import FoundationEssentials
import Glibc
import QueryInspection
import ToolSupport

/// Looks into a store on disk.
@main
struct CacheInspect {
  static func main() async {
    let code = await ToolMain.run(
      CommandTable.tool, explaining: ErrorLines.explain,
      body: { invocation in try await Self.run(invocation) })
    exit(code.rawValue)
  }

  /// Runs the command of a command line.
  ///
  /// - Throws: `ToolError`, `UsageError`, `InspectionError`, `Output.ClosedPipe`.
  static func run(_ invocation: Invocation) async throws -> ExitCode {
    if let kind = invocation.command.text(CommonOption.complete) {
      return try CompletionWords(invocation).print(kind)
    }
    switch invocation.command.path {
    case ["list"]: return try ListCommand(invocation).run()
    case ["show"]: return try ShowCommand(invocation).run()
    case ["pages"]: return try PagesCommand(invocation).run()
    case ["history"]: return try HistoryCommand(invocation).run()
    case ["outbox"]: return try OutboxCommand(invocation).list()
    case ["outbox", "show"]: return try OutboxCommand(invocation).show()
    case ["outbox", "why"]: return try OutboxCommand(invocation).why()
    case ["stats"]: return try StatsCommand(invocation).run()
    case ["check"]: return try CheckCommand(invocation).run()
    case ["watch"]: return try await WatchCommand(invocation).run()
    case ["metrics"]: return try MetricsCommand(invocation).run()
    case ["export"]: return try ExportCommand(invocation).export()
    case ["import"]: return try ExportCommand(invocation).importExport()
    case ["report"]: return try ReportCommand(invocation).run()
    case ["remove"]: return try RemovingCommands(invocation).remove()
    case ["evict"]: return try RemovingCommands(invocation).evict()
    case ["vacuum"]: return try RemovingCommands(invocation).vacuum()
    case ["quarantine", "list"]: return try QuarantineCommand(invocation).list()
    case ["quarantine", "show"]: return try QuarantineCommand(invocation).show()
    case ["quarantine", "drop"]: return try QuarantineCommand(invocation).drop()
    default: throw invocation.command.usageError("there is no such command")
    }
  }
}
