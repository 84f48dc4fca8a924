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
