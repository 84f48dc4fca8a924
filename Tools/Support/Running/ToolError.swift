/// Why a tool cannot go on: the exit code, and a line for a person that says what to do.
package struct ToolError: Error, Hashable, Sendable {
  /// How the tool ends.
  package var code: ExitCode
  /// What is wrong, without the tool's name.
  package var message: String

  /// Creates an error.
  package init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension ToolError: CustomStringConvertible {
  package var description: String { self.message }
}
