import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct MutationRequestTests {
  @Test func aFetchWithoutArgumentsInTheContextThrows() async throws {
    let error = await #expect(throws: (any Error).self) {
      try await EchoMutation().fetch(in: QueryContext(), with: QueryContinuation { _, _ in })
    }
    let message = "\(try #require(error))"
    #expect(message.contains("EchoMutation"))
  }

  @Test func aFetchTakesTheArgumentsOfTheContextAndPassesYieldsOn() async throws {
    let mutation = EchoMutation { call in
      var context = QueryContext()
      context.maxRetries = 3
      call.continuation.yield("1", using: context)
      call.continuation.yield(error: TestError())
      return call.echo
    }
    let store = QueryStore.detached(mutation: mutation)
    let context = store.mutateTask(with: "a").context
    let yields = Recorder<(String?, Int?)>()
    let value = try await mutation.fetch(
      in: context,
      with: QueryContinuation { result, context in
        yields.append((try? result.get().returnValue, context?.maxRetries))
      }
    )
    #expect(value.returnValue == "A")
    #expect(yields.elements.map(\.0) == ["1", nil])
    #expect(yields.elements.map(\.1) == [3, nil])
  }

  @Test func aMutationRetriesWhereItIsAskedTo() async throws {
    let mutation = EchoMutation { call in
      if call.context.retryIndex < 2 { throw TestError("\(call.context.retryIndex)") }
      return call.echo
    }
    let store = QueryStore.detached(mutation: mutation.retry(limit: 2).delayer(.noDelay))
    #expect(try await store.mutate(with: "a") == "A")
    #expect(mutation.attempts.elements == ["a", "a", "a"])
    #expect(spelled(store.history) == ["a: A"])
    #expect(store.errorUpdateCount == 0)
  }

  @Test func theStatesOfAMutationStoreStartAsTheyAreGiven() {
    #expect(QueryStore.detached(mutation: EchoMutation()).currentValue == nil)
    #expect(QueryStore.detached(mutation: EchoMutation(), initialValue: "x").currentValue == "x")
    let state = EchoState(initialValue: "y")
    #expect(QueryStore.detached(mutation: EchoMutation(), initialState: state).initialValue == "y")
  }
}
