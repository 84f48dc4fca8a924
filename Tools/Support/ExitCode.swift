/// How a tool ends: the exit codes for scripts (those of `sysexits.h`, if it has one).
package enum ExitCode: Int32, Error, CaseIterable, Sendable {
  /// All is well.
  case success = 0
  /// What was to be checked does not hold.
  case failed = 1
  /// The command line cannot be understood.
  case usage = 64
  /// The store has bad data.
  case badData = 65
  /// There is no such store.
  case noStore = 66
  /// The network is down, or there is no handler for any row.
  case unavailable = 69
  /// Reading or writing failed, or is not permitted.
  case inputOutput = 74
  /// Work remains that this program could do later.
  case workRemains = 75
  /// A mutation was declared dead: a person should look at it.
  case died = 76
  /// Interrupted before it was done.
  case interrupted = 130
}

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
