package import FoundationEssentials

/// What a command works with: its command line and its output.
package struct Invocation {
  /// The command, with its options and arguments.
  package let command: ParsedCommand
  /// What the standard output is.
  package let terminal: Terminal
  /// The output that it prints to.
  package let output: Output
  /// How it prints moments.
  package let dates: DateText
  /// Prints JSON; nil if the user wants text.
  package let json: JSONPrinter?
  /// The moment that ages are counted from.
  package let now: Date

  /// Creates one for a command line.
  package init(
    _ command: ParsedCommand,
    terminal: Terminal = Terminal(),
    output: Output = Output(),
    now: Date = Date()
  ) {
    self.command = command
    self.terminal = terminal
    self.output = output
    self.dates = DateText(isUTC: command.has(CommonOption.utc))
    self.json = command.has(CommonOption.json) ? JSONPrinter() : nil
    self.now = now
  }
}
