import Query
import TestSupport
import Testing

private typealias Numbers = QueryState<Int?, Int>

@Suite(.warningsAreIssues) struct QueryControllerTests {
  @Test func aControllerIsCalledOncePerStoreBeforeItIsHandedOut() async throws {
    let calls = Counter()
    let query = ProbeQuery().controlled(
      by: ProbeController<Numbers> { controls in
        calls.increment()
        controls.yield(40)
        return .empty
      }
    )
    let client = QueryClient.quiet()
    let store = client.store(for: query)
    #expect(calls.value == 1)
    #expect(store.currentValue == 40)
    #expect(store.valueUpdateCount == 1)
    try await store.fetch()
    _ = client.store(for: query)
    #expect(calls.value == 1)
    let detached = QueryStore.detached(query: query, initialValue: nil)
    #expect(calls.value == 2)
    #expect(detached.currentValue == 40)
  }

  @Test func aControllerOfAnotherStateIsSkipped() {
    let calls = Recorder<String>()
    var context = QueryContext()
    context.queryControllers = [
      ProbeController<QueryState<String?, String>> { _ in
        calls.append("text")
        return .empty
      },
      ProbeController<Numbers> { _ in
        calls.append("number")
        return .empty
      },
      ProbeController<MutationState<Int, Int>> { _ in
        calls.append("mutation")
        return .empty
      },
    ]
    let store = QueryStore.detached(
      query: ProbeQuery(),
      initialValue: nil,
      initialContext: context
    )
    #expect(calls.elements == ["number"])
    #expect(store.context.queryControllers.count == 3)
  }

  @Test func infiniteQueriesAndMutationsHaveControllers() {
    let pages = ProbePages().controlled(
      by: ProbeController<InfiniteQueryState<Int, String>> { controls in
        controls.yield([InfiniteQueryPage(id: 0, value: "controller")])
        return .empty
      }
    )
    let mutation = ProbeMutation().controlled(
      by: ProbeController<MutationState<Int, Int>> { controls in
        controls.yield(5)
        return .empty
      }
    )
    #expect(QueryStore.detached(query: pages).currentValue.map(\.value) == ["controller"])
    #expect(QueryStore.detached(mutation: mutation).currentValue == 5)
  }

  @Test func theSubscriptionEndsWithTheStore() {
    let ended = Recorder<String>()
    func ending(_ name: String) -> ProbeController<Numbers> {
      ProbeController { _ in QuerySubscription { ended.append(name) } }
    }
    let query = ProbeQuery().controlled(by: ending("inner")).controlled(by: ending("outer"))
    var store: QueryStore<Numbers>? = .detached(query: query, initialValue: nil)
    weak let released = store
    store?.reset()
    #expect(ended.elements == [])
    store = nil
    #expect(released == nil)
    #expect(ended.elements == ["outer", "inner"])
  }

  @Test func controllersThatAreSetLaterAreNotStarted() {
    let calls = Counter()
    let store = QueryStore.detached(query: ProbeQuery(), initialValue: nil)
    store.context.queryControllers.append(
      ProbeController<Numbers> { _ in
        calls.increment()
        return .empty
      }
    )
    #expect(calls.value == 0)
  }

  @Test func noLockIsHeldWhileAControllerStarts() {
    let results = Recorder<Bool>()
    let client = QueryClient.quiet()
    let query = ProbeQuery().controlled(
      by: ProbeController<Numbers> { controls in
        results.append(
          isDoneElsewhere {
            controls.yield(3)
            _ = controls.state
            _ = client.store(for: ProbeTextQuery())
          }
        )
        return .empty
      }
    )
    #expect(client.store(for: query).currentValue == 3)
    #expect(results.elements == [true])
  }
}
