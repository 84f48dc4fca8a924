import ToolSupport

/// A tool with one of everything.
enum SampleTool {
  static let limit = ToolOption("limit", "n", .integer(1...100), "N", "show at most N")
  static let sort = ToolOption(
    "sort", nil, .words(["size", "age"]), "ORDER", "the order")
  static let deadline = ToolOption(
    "deadline", "d", .duration, "TIME", "stop after TIME")
  static let file = ToolOption("output", "o", .file, "FILE", "write to FILE", isRequired: true)
  static let kind = ToolOption("kind", "k", .text, "KIND", "only KIND", isRepeated: true)
  static let all = ToolOption("all", "A", .flag, "", "show all")
  static let verbose = ToolOption("verbose", "v", .flag, "", "say more")

  static let tool = Tool(
    ToolCommand(
      "sample", "shows what a table can say",
      discussion: "It does nothing. It says so at some length, for lines have to be broken "
        + "somewhere.\nA second paragraph has a .dot, a \\backslash and a -dash.",
      subcommands: [
        ToolCommand(
          "list", "lists things", options: [limit, sort, deadline, kind, all, verbose],
          examples: ["sample list --limit 10"]),
        ToolCommand(
          "report", "writes a report", options: [file],
          examples: ["sample report -o report.html"]),
        ToolCommand(
          "outbox", "shows the outbox", options: [all],
          subcommands: [
            ToolCommand(
              "show", "one row",
              arguments: [ToolArgument("ID", .text, "which one")],
              examples: ["sample outbox show 3f"]),
            ToolCommand(
              "retry", "some rows", options: [all],
              arguments: [ToolArgument("ID", .text, "which ones", isRepeated: true)],
              examples: ["sample outbox retry 3f 4a"]),
          ],
          isRunnable: true, examples: ["sample outbox"]),
        ToolCommand(
          "ping", "needs no store", options: [all], common: [CommonOption.json, CommonOption.help],
          examples: ["sample ping --json"]),
        ToolCommand(
          "history", "what ended",
          arguments: [ToolArgument("NAME", .text, "of whom", isRequired: false)],
          examples: ["sample history"]),
      ],
      examples: ["sample list"]))

  /// Reads a command line that must be one of a command.
  static func parse(_ words: String...) throws -> ParsedCommand {
    guard case .command(let command) = try CommandLineParser.parse(words, for: Self.tool) else {
      throw UsageError("no command")
    }
    return command
  }

  /// What is wrong with a command line.
  static func error(_ words: String...) -> UsageError? {
    do {
      _ = try CommandLineParser.parse(words, for: Self.tool)
      return nil
    } catch {
      return error
    }
  }
}
