/// A command-line tool: the one table from which parsing, help, completion and manual are made.
package struct Tool: Hashable, Sendable {
  /// The tool as a command: its name, summary and commands.
  package var root: ToolCommand
  /// The options that every command has.
  package var common: [ToolOption]
  /// How it ends, for the manual.
  package var exitCodes: [ExitCodeMeaning]
  /// The release that `--version` tells.
  package var version: String

  /// The release that the tools of this package belong to.
  package static let release = "0.1.0"

  /// Creates a tool. See the properties for what each is.
  package init(
    _ root: ToolCommand,
    common: [ToolOption] = CommonOption.all,
    exitCodes: [ExitCodeMeaning] = ExitCodeMeaning.common,
    version: String = Tool.release
  ) {
    self.root = root
    self.common = common
    self.exitCodes = exitCodes
    self.version = version
  }

  /// The name of the program.
  package var name: String { self.root.name }

  /// Every command, the tool itself first, with the words that lead to it.
  package var commands: [(path: [String], command: ToolCommand)] {
    func all(
      _ command: ToolCommand, _ path: [String]
    ) -> [(path: [String], command: ToolCommand)] {
      var result = [(path: path, command: command)]
      for subcommand in command.subcommands {
        result += all(subcommand, path + [subcommand.name])
      }
      return result
    }
    return all(self.root, [])
  }

  /// The options of a command, its own first.
  package func options(of command: ToolCommand) -> [ToolOption] {
    command.options + self.common(of: command)
  }

  /// Which of the options of every command a command has.
  func common(of command: ToolCommand) -> [ToolOption] { command.common ?? self.common }
}
