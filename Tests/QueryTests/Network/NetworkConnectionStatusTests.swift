import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct NetworkConnectionStatusTests {
  @Test func statusesAreOrderedFromTheWorst() {
    #expect(NetworkConnectionStatus.disconnected < .requiresConnection)
    #expect(NetworkConnectionStatus.requiresConnection < .connected)
    #expect(!(NetworkConnectionStatus.connected < .connected))
    #expect(
      [NetworkConnectionStatus.disconnected, .requiresConnection, .connected].map(\.rawValue)
        == [0, 1, 2]
    )
  }

  @Test func theContextWantsAConnectionByDefault() {
    #expect(QueryContext().satisfiedConnectionStatus == .connected)
  }

  @Test func theInnerStatusWins() {
    let query = ProbeQuery().satisfiedConnectionStatus(.requiresConnection)
      .satisfiedConnectionStatus(.disconnected)
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.satisfiedConnectionStatus == .requiresConnection)
  }

  // MARK: - Completely offline

  @Test func offlineNeedsNoNetworkAndNoRetries() {
    let store = QueryStore.detached(query: ProbeQuery().completelyOffline(), initialValue: nil)
    #expect(store.context.satisfiedConnectionStatus == .disconnected)
    #expect(store.context.maxRetries == 0)
    #expect(store.context.queryBackoffFunction.rawDescription == "No Backoff")
  }

  @Test func offlineBeatsTheClientsRetries() async {
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      throw TestError()
    })
    let client = QueryClient.quiet(
      .default(
        backoff: .constant(9),
        delayer: .noDelay,
        networkObserver: MockNetworkObserver()
      ))
    let store = client.store(for: query.completelyOffline())
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(attempts.value == 1)
    #expect(store.context.queryBackoffFunction.rawDescription == "No Backoff")
    #expect(store.context.satisfiedConnectionStatus == .disconnected)
  }

  @Test func aRetryNearerToTheRequestBeatsOffline() async {
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      throw TestError()
    })
    .retry(limit: 2).delayer(.noDelay).completelyOffline()
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(attempts.value == 3)
  }

  @Test func offlineNearerToTheRequestBeatsARetry() async {
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      throw TestError()
    })
    .completelyOffline().retry(limit: 2)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(attempts.value == 1)
  }

  @Test func notOfflineEditsNothing() {
    let query = ProbeQuery().completelyOffline(false).satisfiedConnectionStatus(.requiresConnection)
      .retry(limit: 4).backoff(.constant(2))
    let context = QueryStore.detached(query: query, initialValue: nil).context
    #expect(context.satisfiedConnectionStatus == .requiresConnection)
    #expect(context.maxRetries == 4)
    #expect(context.queryBackoffFunction.rawDescription == "Constant 2.0 secs")
  }

  @Test(arguments: [.disconnected, .requiresConnection, .connected] as [NetworkConnectionStatus])
  func everyStatusIsGoodOffline(status: NetworkConnectionStatus) {
    let condition: ConnectedCondition = .connected(to: MockNetworkObserver(initialStatus: status))
    let store = QueryStore.detached(query: ProbeQuery().completelyOffline(), initialValue: nil)
    #expect(condition.isSatisfied(in: store.context))
  }
}
