/// A command of a tool, or a subcommand, as `show` of `outbox show`.
///
/// ```swift
/// let show = ToolCommand(
///   "show", "one entry with all that is known of it",
///   arguments: [ToolArgument("ENTRY", .text, "the beginning of a hash, or an identity")],
///   examples: ["cache-inspect show --application org.example.notes 3f2a"])
/// ```
package struct ToolCommand: Hashable, Sendable {
  /// What one types.
  package var name: String
  /// What it does, in words that follow its name.
  package var summary: String
  /// Further help, in paragraphs; may be empty.
  package var discussion: String
  /// Its options, beside those that all commands have.
  package var options: [ToolOption]
  /// The only ones that it has of the options of every command; nil: all.
  package var common: [ToolOption]?
  /// What it takes beside options, in this order.
  package var arguments: [ToolArgument]
  /// Its own commands.
  package var subcommands: [ToolCommand]
  /// Whether it does something without a subcommand.
  package var isRunnable: Bool
  /// Command lines that can be typed as they stand.
  package var examples: [String]

  /// Creates a command. See the properties for what each is; one with subcommands is runnable only
  /// if the caller says so.
  package init(
    _ name: String,
    _ summary: String,
    discussion: String = "",
    options: [ToolOption] = [],
    common: [ToolOption]? = nil,
    arguments: [ToolArgument] = [],
    subcommands: [ToolCommand] = [],
    isRunnable: Bool? = nil,
    examples: [String]
  ) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.options = options
    self.common = common
    self.arguments = arguments
    self.subcommands = subcommands
    self.isRunnable = isRunnable ?? subcommands.isEmpty
    self.examples = examples
  }

  /// The subcommand of a name.
  package func subcommand(_ name: String) -> ToolCommand? {
    self.subcommands.first { $0.name == name }
  }
}
