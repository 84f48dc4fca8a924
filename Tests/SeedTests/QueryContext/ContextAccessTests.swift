import Query
import TestSupport
import Testing

// Document 000, "Overview": blocks 1 and 2.

private enum Block1 {
  struct PlayerQuery: QueryRequest, Hashable {
    let id: Int

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Player>
    ) async throws -> Player {
      // We can use the context in here...
      Player(id: id, name: context.queryTaskConfiguration.name ?? "")
    }
  }
}

private enum Block2 {
  struct PlayerQuery: QueryRequest, Hashable {
    let id: Int

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Player>
    ) async throws -> Player {
      if context.retryIndex > 0 {
        // Fetch considering how many times we've retried...
        return Player(id: id, name: "Retry \(context.retryIndex)")
      } else {
        // Fetch normally...
        throw TestError("first attempt")
      }
    }
  }
}

@Suite("Document 000: the context in a query", .warningsAreIssues)
struct ContextAccessTests {
  @Test("Every request gets access to the context of its fetch")
  func access() async throws {
    let store = QueryStore.detached(query: Block1.PlayerQuery(id: 7), initialValue: nil)

    let player = try await store.fetch(using: QueryTaskConfiguration(name: "Blob"))

    #expect(player == Player(id: 7, name: "Blob"))
    #expect(store.currentValue == player)
  }

  @Test("The retry index tells the first attempt from a retry")
  func retryIndex() async throws {
    let query = Block2.PlayerQuery(id: 7)
    let once = QueryStore.detached(query: query, initialValue: nil)
    let retried = QueryStore.detached(query: query.retry(limit: 3), initialValue: nil)
    retried.context.queryDelayer = .noDelay

    await #expect(throws: TestError("first attempt")) { try await once.fetch() }
    let player = try await retried.fetch()

    #expect(player == Player(id: 7, name: "Retry 1"))
  }
}
