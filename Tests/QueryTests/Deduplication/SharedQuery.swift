import Query
import TestSupport

typealias SharedState = QueryState<Int?, Int>

/// A query of numbers that counts its fetches and waits at a gate.
struct SharedQuery: QueryRequest {
  /// One fetch, for the script of a test.
  struct Call: Sendable {
    let context: QueryContext
    let continuation: QueryContinuation<Int>
    /// Which fetch this is, from 1.
    let number: Int
  }

  let path: QueryPath = ["shared"]
  let fetches = Counter()
  let script: @Sendable (Call) async throws -> Int

  init(script: @escaping @Sendable (Call) async throws -> Int) { self.script = script }

  /// A query whose fetches return their number after a gate.
  init(_ gate: Gate) {
    self.init { call in
      try await gate.pass()
      return call.number
    }
  }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    let number = self.fetches.increment()
    return try await self.script(
      Call(context: context, continuation: continuation, number: number)
    )
  }
}

extension QueryRequest where State == SharedState {
  /// A store of this query that no client knows.
  func sharedStore() -> QueryStore<SharedState> { .detached(query: self, initialValue: nil) }
}

/// A predicate that counts how often it is asked, which tells a test that a caller has come.
final class AskingPredicate: Sendable {
  let questions = Recorder<(running: QueryContext, new: QueryContext)>()
  private let answer: @Sendable (QueryContext, QueryContext) -> Bool

  init(answer: @escaping @Sendable (QueryContext, QueryContext) -> Bool = { _, _ in true }) {
    self.answer = answer
  }

  func isDuplicate(_ running: QueryContext, _ new: QueryContext) -> Bool {
    let answer = self.answer(running, new)
    self.questions.append((running, new))
    return answer
  }
}

extension QueryStore {
  /// A fetch in a task of its own on the main actor: if the predicate was called for it, it has
  /// joined by the time that a test on the main actor goes on.
  @MainActor func fetchInTask() -> Task<State.QueryValue, any Error> {
    Task { try await self.fetch() }
  }
}
