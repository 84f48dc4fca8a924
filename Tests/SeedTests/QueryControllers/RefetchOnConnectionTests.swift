import Query
import TestSupport
import Testing

// Document 002, "Overview": block 1. The observer stands for Apple's path monitor.

private enum NWPathMonitorObserver {
  static let shared = MockNetworkObserver()
}

private struct MyQuery: QueryRequest, Hashable {
  // ...

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    context.fetches.increment()
  }
}

// Refetch whenever the network comes back online.
private let query = MyQuery().refetchOnChange(of: .connected(to: NWPathMonitorObserver.shared))

@Suite("Document 002: refetching on a change", .warningsAreIssues)
struct RefetchOnConnectionTests {
  private typealias State = QueryState<Int?, Int>

  @Test("A query is refetched whenever the network comes back online")
  func refetch() async throws {
    let collector = EventCollector<State>()
    var context = QueryContext()
    context.fetches = Counter()
    context.enableAutomaticFetchingCondition = .always(true)
    let store = QueryStore.detached(query: query, initialValue: nil, initialContext: context)
    let subscription = store.subscribe(with: collector.handler)
    await collector.wait(for: .fetchingEnded)
    #expect(store.currentValue == 1)

    NWPathMonitorObserver.shared.send(status: .disconnected)
    #expect(!store.isLoading)
    NWPathMonitorObserver.shared.send(status: .connected)
    await collector.wait(for: .fetchingEnded, count: 2)
    #expect(store.currentValue == 2)

    // It was there all the time.
    NWPathMonitorObserver.shared.send(status: .connected)
    #expect(!store.isLoading)
    subscription.cancel()
    #expect(
      collector.events == [
        .stateChanged,
        .stateChanged, .fetchingStarted, .returned("1"), .stateChanged, .fetchingEnded,
        .stateChanged, .fetchingStarted, .returned("2"), .stateChanged, .fetchingEnded,
      ]
    )
  }

  @Test("A store that is released while its condition changes is no mistake of its user's")
  func releaseDuringChange() async {
    let condition = ManualCondition(false)
    let owner = Locked<QueryStore<State>?>(nil)
    // This handler is called before the store's own, which is on its way to be called then.
    let subscription = condition.subscribe(in: QueryContext()) { _ in
      let released = owner.withLock { owner in
        defer { owner = nil }
        return owner
      }
      withExtendedLifetime(released) {}
    }
    let query = MyQuery().refetchOnChange(of: condition)
    owner.withLock { $0 = QueryStore.detached(query: query, initialValue: nil) }

    await withExpectedWarnings([]) { condition.send(true) }
    #expect(owner.withLock { $0 == nil })
    subscription.cancel()
  }
}
