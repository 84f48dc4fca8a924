/// The answer to `--help`.
package enum HelpText {
  private static let width = 80

  /// The help of a command.
  ///
  /// - Parameters:
  ///   - path: The words that lead to it; empty: the tool itself.
  ///   - tool: The tool.
  /// - Returns: Lines of at most 80 columns, except examples; nil if there is no such command.
  package static func text(of path: [String], in tool: Tool) -> String? {
    guard let found = tool.commands.first(where: { $0.path == path }) else { return nil }
    let command = found.command
    var lines = ["Usage: \(Self.usage(of: path, command, tool))", ""]
    lines += Self.wrap(Self.sentence(command.summary), indent: 0)
    if !command.discussion.isEmpty {
      for paragraph in command.discussion.split(separator: "\n") {
        lines += [""] + Self.wrap(String(paragraph), indent: 0)
      }
    }
    lines += Self.section("Commands", command.subcommands.map { ($0.name, $0.summary) })
    lines += Self.section("Arguments", command.arguments.map { ($0.usage, $0.help) })
    lines += Self.section("Options", Self.rows(command.options))
    let common = Self.rows(tool.common(of: command))
    lines += Self.section(
      command.options.isEmpty ? "Options" : "Options of every command", common)
    lines += ["", command.examples.count == 1 ? "Example:" : "Examples:"]
    lines += command.examples.map { "  \($0)" }
    return lines.joined(separator: "\n")
  }

  /// How a command is typed, in one line.
  static func usage(of path: [String], _ command: ToolCommand, _ tool: Tool) -> String {
    var words = [tool.name] + path
    if !command.subcommands.isEmpty { words.append(command.isRunnable ? "[COMMAND]" : "COMMAND") }
    words.append("[OPTION…]")
    for option in command.options where option.isRequired {
      words.append("\(option.dashed) \(option.placeholder)")
    }
    words += command.arguments.map(\.usage)
    return words.joined(separator: " ")
  }

  /// A summary as a sentence.
  static func sentence(_ words: String) -> String {
    words.prefix(1).uppercased() + words.dropFirst() + (words.hasSuffix(".") ? "" : ".")
  }

  /// The forms of an option, as `-l, --limit N`.
  static func forms(of option: ToolOption) -> String {
    let short = option.short.map { "-\($0), " } ?? "    "
    return short + option.dashed + (option.takesValue ? " \(option.placeholder)" : "")
  }

  /// What an option is for, and which words it takes.
  static func purpose(of option: ToolOption) -> String {
    var text = option.help
    if case .words(let words) = option.kind { text += ": \(words.joined(separator: ", "))" }
    if option.isRepeated { text += "; may be given more than once" }
    return text
  }
}

// MARK: - Layout

extension HelpText {
  private static func rows(_ options: [ToolOption]) -> [(String, String)] {
    options.filter { !$0.isHidden }.map { (Self.forms(of: $0), Self.purpose(of: $0)) }
  }

  private static func section(_ title: String, _ rows: [(String, String)]) -> [String] {
    guard !rows.isEmpty else { return [] }
    let column = min(26, rows.map { $0.0.count }.max() ?? 0) + 4
    var lines = ["", "\(title):"]
    for (name, text) in rows {
      let wrapped = Self.wrap(text, indent: column)
      let fits = name.count + 4 <= column
      guard fits, let first = wrapped.first else {
        lines += ["  \(name)"] + wrapped
        continue
      }
      let padding = String(repeating: " ", count: column - 2 - name.count)
      lines.append("  \(name)\(padding)\(first.dropFirst(column))")
      lines += wrapped.dropFirst()
    }
    return lines
  }

  private static func wrap(_ text: String, indent: Int) -> [String] {
    let margin = String(repeating: " ", count: indent)
    var lines = [String]()
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent + line.count + 1 + word.count > Self.width {
        lines.append(margin + line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return lines + [margin + line]
  }
}
