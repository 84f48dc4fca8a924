/// A command line that was understood: which command, with which options and arguments. All values
/// are of the kind that their options say.
package struct ParsedCommand: Hashable, Sendable {
  /// The words that lead to the command, as `["outbox", "show"]`; empty: the tool itself.
  package var path: [String]
  /// What stands beside the options.
  package var arguments: [String]
  var values: [String: [String]]

  /// Whether an option was given.
  package func has(_ option: ToolOption) -> Bool { self.values[option.name] != nil }

  /// The value of an option; nil if it was not given.
  package func text(_ option: ToolOption) -> String? { self.values[option.name]?.last }

  /// The values of an option that may be given more than once.
  package func texts(_ option: ToolOption) -> [String] { self.values[option.name] ?? [] }

  /// The value of an option of whole numbers; nil if it was not given.
  package func integer(_ option: ToolOption) -> Int? { self.text(option).flatMap { Int($0) } }

  /// The value of a duration option; nil if it was not given.
  package func duration(_ option: ToolOption) -> Duration? {
    self.text(option).flatMap { DurationText.parse($0) }
  }

  /// The value of an option of words, as a case of an enumeration; nil if it was not given.
  package func word<Word: RawRepresentable>(
    _ option: ToolOption, as type: Word.Type
  ) -> Word? where Word.RawValue == String {
    self.text(option).flatMap { Word(rawValue: $0) }
  }

  /// An error about this command.
  package func usageError(_ message: String) -> UsageError {
    UsageError(message, path: self.path)
  }
}

/// What the user requested on a command line.
package enum ParsedLine: Hashable, Sendable {
  /// To run a command.
  case command(ParsedCommand)
  /// The help of the command that these words lead to.
  case help(path: [String])
  /// The version.
  case version
  /// The completion script of a shell.
  case completion(shell: String)
  /// The manual page.
  case manual
}
