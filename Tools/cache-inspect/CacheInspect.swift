import Foundation
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
    switch invocation.command.path {
    case ["list"]: try ListCommand(invocation).run()
    case ["show"]: try ShowCommand(invocation).run()
    case ["pages"]: try PagesCommand(invocation).run()
    case ["history"]: try HistoryCommand(invocation).run()
    case ["outbox"]: try OutboxCommand(invocation).list()
    case ["outbox", "show"]: try OutboxCommand(invocation).show()
    case ["outbox", "why"]: try OutboxCommand(invocation).why()
    case ["stats"]: try StatsCommand(invocation).run()
    case ["check"]: try CheckCommand(invocation).run()
    case ["watch"]: try await WatchCommand(invocation).run()
    case ["export"]: try ExportCommand(invocation).export()
    case ["import"]: try ExportCommand(invocation).importExport()
    case ["report"]: try ReportCommand(invocation).run()
    case ["remove"]: try RemovingCommands(invocation).remove()
    case ["evict"]: try RemovingCommands(invocation).evict()
    case ["vacuum"]: try RemovingCommands(invocation).vacuum()
    case ["quarantine", "list"]: try QuarantineCommand(invocation).list()
    case ["quarantine", "show"]: try QuarantineCommand(invocation).show()
    case ["quarantine", "drop"]: try QuarantineCommand(invocation).drop()
    default: throw invocation.command.usageError("there is no such command")
    }
  }
}
