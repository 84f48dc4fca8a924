import Query
import TestSupport

typealias EchoState = MutationState<String, String>

/// A mutation of strings: an attempt returns its arguments in capitals unless the script of a test
/// says otherwise.
struct EchoMutation: MutationRequest {
  /// One attempt, for the script of a test.
  struct Call: Sendable {
    let arguments: String
    let context: QueryContext
    let continuation: QueryContinuation<String>

    /// What the attempt returns without a script.
    var echo: String { self.arguments.uppercased() }
  }

  let path: QueryPath = ["echo"]
  let attempts = Recorder<String>()
  let perform: @Sendable (Call) async throws -> String

  init(perform: @escaping @Sendable (Call) async throws -> String = { $0.echo }) {
    self.perform = perform
  }

  func mutate(
    with arguments: String,
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    self.attempts.append(arguments)
    return try await self.perform(
      Call(arguments: arguments, context: context, continuation: continuation)
    )
  }
}

extension EchoMutation {
  /// A mutation whose attempts wait at the gate of their arguments.
  init(gates: [String: Gate]) {
    self.init { call in
      try await gates[call.arguments]?.pass()
      return call.echo
    }
  }
}

/// The arguments and results of a history, spelled for comparing.
func spelled(_ history: IdentifiedArrayOf<EchoState.HistoryEntry>) -> [String] {
  history.map { entry in
    switch entry.status {
    case .idle: "\(entry.arguments): idle"
    case .loading: "\(entry.arguments): loading"
    case .result(.success(let value)): "\(entry.arguments): \(value)"
    case .result(.failure(let error)): "\(entry.arguments): \(error)"
    }
  }
}
