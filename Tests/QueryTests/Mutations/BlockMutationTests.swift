import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct BlockMutationTests {
  @Test func theClosureGetsTheArgumentsAndTheContext() async throws {
    let mutation = BlockMutation(["create-post"]) { (title: String, context) in
      "\(title) \(context.maxRetries)"
    }
    #expect(mutation.path == ["create-post"])
    let store = QueryStore.detached(mutation: mutation)
    var context = QueryContext()
    context.maxRetries = 8
    #expect(try await store.mutate(with: "a", using: context) == "a 8")
    #expect(store.currentValue == "a 8")
    #expect(store.history.map(\.arguments) == ["a"])
  }

  @Test func theClosureMayYield() async throws {
    let mutation = BlockMutation<Int, Int>(["count"]) { number, _, continuation in
      continuation.yield(number)
      return number + 1
    }
    let store = QueryStore.detached(mutation: mutation)
    let results = Recorder<Int?>()
    let subscription = store.subscribe { state in
      if let entry = state.history.last { results.append(try? entry.currentResult?.get()) }
    }
    #expect(try await store.mutate(with: 1) == 2)
    #expect(results.elements == [nil, 1, 2])
    subscription.cancel()
  }

  @Test func aMutationWithoutArgumentsTakesTheContextAlone() async throws {
    let calls = Counter()
    let mutation = BlockMutation(["ping"]) { _ in _ = calls.increment() }
    try await QueryClient().store(for: mutation).mutate()
    #expect(calls.value == 1)
  }

  @Test func whatTheClosureThrowsIsTheResult() async throws {
    let mutation = BlockMutation(["failing"]) { (_: Int, _) -> Int in throw TestError() }
    let store = QueryClient().store(for: mutation)
    await #expect(throws: TestError()) { try await store.mutate(with: 1) }
    #expect(store.history.last?.status.isFailure == true)
  }

  @Test func itTakesModifiers() async throws {
    let mutation = BlockMutation(["retried"]) { (_: Int, context) in
      if context.isFirstFetchAttempt { throw TestError() }
      return context.retryIndex
    }
    let store = QueryClient().store(
      for: mutation.retry(limit: 1).delayer(.noDelay).maxHistory(length: 1))
    #expect(try await store.mutate(with: 1) == 1)
    #expect(try await store.mutate(with: 2) == 1)
    #expect(store.history.map(\.arguments) == [2])
  }

  @Test func messagesNameItByItsPath() async throws {
    let mutation = BlockMutation(["create", 1]) { (_: Int, _) in 1 }
    #expect(mutation._debugTypeName == #"BlockMutation(["create", 1])"#)
  }
}
