/// What a tool means by an exit code, for its manual.
package struct ExitCodeMeaning: Hashable, Sendable {
  /// The code.
  package var code: ExitCode
  /// What it means.
  package var meaning: String

  /// Creates a meaning.
  package init(_ code: ExitCode, _ meaning: String) {
    self.code = code
    self.meaning = meaning
  }

  /// What the codes mean that every tool has.
  package static let common = [
    Self(.success, "all is well"),
    Self(.usage, "the command line cannot be understood"),
    Self(.badData, "the store has bad data"),
    Self(.noStore, "there is no such store"),
    Self(.inputOutput, "reading or writing failed, or is not permitted"),
  ]
}
