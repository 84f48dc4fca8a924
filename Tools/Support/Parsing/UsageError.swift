/// A command line that cannot be understood: what is wrong, in one line, and what to do.
package struct UsageError: Error, Hashable, Sendable {
  /// What is wrong, without a full stop, as `unknown option --partion`.
  package var message: String
  /// What the user may have meant; nil if nothing is near.
  package var suggestion: String?
  /// The words of the command that it is about, after the name of the tool.
  package var path: [String]

  /// Creates an error. See the properties for what each is.
  package init(_ message: String, suggestion: String? = nil, path: [String] = []) {
    self.message = message
    self.suggestion = suggestion
    self.path = path
  }

  /// The whole line, without the name of the tool before it.
  ///
  /// - Parameter tool: The name of the tool.
  package func line(of tool: String) -> String {
    let hint = self.suggestion.map { "; did you mean \($0)?" } ?? "."
    let command = ([tool] + self.path).joined(separator: " ")
    return "\(self.message)\(hint) See \(command) --help"
  }
}

extension UsageError: CustomStringConvertible {
  package var description: String { self.message }
}
