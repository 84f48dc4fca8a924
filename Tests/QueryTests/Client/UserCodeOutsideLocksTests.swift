import Foundation
import Query
import TestSupport
import Testing

private typealias Numbers = QueryState<Int?, Int>

/// From inside each piece of a user's code another thread uses the store and the client, while the
/// first waits for it.
@Suite(.warningsAreIssues) struct UserCodeOutsideLocksTests {
  private let client = QueryClient.quiet()
  private let results = Recorder<String>()
  private let stores = Recorder<QueryStore<Numbers>>()

  /// Uses the client, and the store if there is one, on another thread.
  private var touch: @Sendable (String) -> Void {
    { [client, results, stores] name in
      let store = stores.elements.last
      let isDone = isDoneElsewhere {
        _ = client.store(for: ProbeTextQuery())
        _ = client.stores(matching: [])
        _ = client.defaultContext
        guard let store else { return }
        _ = store.state
        _ = store.context
        _ = store.subscriberCount
        if store.currentValue != 99 { store.currentValue = 99 }
        store.subscribe(with: QueryEventHandler()).cancel()
      }
      results.append(isDone ? name : "\(name) deadlocks")
    }
  }

  private func makeStore(_ query: some QueryRequest<Int, Numbers>) -> QueryStore<Numbers> {
    // A subscription of the test must not fetch by itself.
    let store = self.client.store(for: query.disableAutomaticFetching(), initialValue: 0)
    self.stores.append(store)
    return store
  }

  @Test func handlers() async throws {
    let store = self.makeStore(ProbeQuery())
    let touch = self.touch
    try await store.fetch(
      handler: QueryEventHandler(
        onStateChanged: { state, _ in if state.currentValue != 99 { touch("state") } },
        onFetchingStarted: { _ in touch("started") },
        onFetchingEnded: { _ in touch("ended") },
        onResultReceived: { _, _ in touch("result") }
      )
    )
    #expect(Set(self.results.elements).isSubset(of: ["state", "started", "result", "ended"]))
    #expect(self.results.elements.contains("started"))
    #expect(self.results.elements.last == "ended")
  }

  @Test func requestsAndTheirYields() async throws {
    let touch = self.touch
    let store = self.makeStore(
      ProbeQuery(onFetch: { _, continuation in
        touch("request")
        continuation.yield(4)
        touch("after the yield")
        return 5
      })
    )
    #expect(try await store.fetch() == 5)
    #expect(self.results.elements == ["request", "after the yield"])
  }

  @Test func setupControllersAndCancelClosures() {
    let touch = self.touch
    let query = ProbeQuery(onSetup: { _ in touch("setup") }).controlled(
      by: ProbeController<Numbers> { _ in
        touch("controller")
        return QuerySubscription { touch("cancel") }
      }
    )
    _ = self.client.store(for: query)
    self.client.clearStores(matching: ["probe"])
    #expect(self.results.elements == ["setup", "controller", "cancel"])
  }

  @Test func cancelClosuresOfStoresThatAClosureRemoves() {
    let touch = self.touch
    let query = ProbeQuery().controlled(
      by: ProbeController<Numbers> { _ in QuerySubscription { touch("cancel") } }
    )
    _ = self.client.store(for: query)
    self.client.withStores(matching: ["probe"]) { stores, _ in stores.removeAll() }
    #expect(self.results.elements == ["cancel"])
  }

  @Test func conditionsAndPredicates() {
    let touch = self.touch
    let store = self.makeStore(
      ProbeQuery().staleWhen { _, _ in
        touch("predicate")
        return true
      }
      .enableAutomaticFetching(onlyWhen: TouchingCondition(touch: touch))
    )
    self.stores.removeAll()
    #expect(store.isStale)
    #expect(store.isAutomaticFetchingEnabled)
    let subscription = store.subscribe(with: QueryEventHandler())
    subscription.cancel()
    #expect(
      self.results.elements == ["predicate", "condition", "condition", "predicate"]
    )
  }

  @Test func suspensionsAndRefetches() async throws {
    let touch = self.touch
    let store = self.makeStore(
      ProbeQuery().suspend(on: TouchingCondition(touch: touch))
        .refetchOnChange(of: TouchingCondition(touch: touch))
    )
    try await store.fetch()
    #expect(self.results.elements == ["condition", "subscription", "condition", "condition"])
  }

  @Test func delayersBackoffFunctionsAndLoggers() async throws {
    let touch = self.touch
    let store = self.makeStore(
      ProbeQuery(onFetch: { context, _ in
        if context.isFirstFetchAttempt { throw TestError() }
        return 1
      })
      .retry(limit: 1)
      .backoff(
        QueryBackoffFunction { _ in
          touch("backoff")
          return 0
        }
      )
      .delayer(TouchingDelayer(touch: touch))
      .logDuration(with: TouchingLogger(touch: touch))
    )
    try await store.fetch()
    #expect(self.results.elements == ["backoff", "delay", "log"])
  }

  @Test func duplicatePredicates() async throws {
    let touch = self.touch
    let gate = Gate()
    let store = self.makeStore(
      ProbeQuery(onFetch: { _, _ in
        try await gate.pass()
        return 1
      })
      .deduplicated { _, _ in
        touch("duplicate")
        gate.open()
        return true
      }
    )
    let first = Task { try await store.fetch() }
    await gate.arrival()
    try await store.fetch()
    _ = try await first.value
    #expect(self.results.elements == ["duplicate"])
  }

  @Test func warningReporters() async {
    // The reporter is the whole process's.
    await #expect(processExitsWith: .success) {
      let client = QueryClient.quiet()
      let store = client.store(for: ProbeQuery(), initialValue: 0)
      let mutation = client.store(for: ProbeMutation())
      let results = Recorder<Bool>()
      QueryWarning.reporter = { _, _, _, _, _ in
        results.append(
          isDoneElsewhere {
            _ = client.store(for: ProbeTextQuery())
            store.currentValue = 1
            _ = mutation.state
            mutation.subscribe(with: MutationEventHandler()).cancel()
          }
        )
      }
      _ = client.store(for: OtherProbeQuery())
      _ = try? await mutation.fetch()
      let continuations = Recorder<QueryContinuation<Int>>()
      let late = QueryStore.detached(
        query: ProbeQuery(onFetch: { _, continuation in
          continuations.append(continuation)
          return 1
        }),
        initialValue: nil
      )
      try await late.fetch()
      continuations.elements[0].yield(2)
      #expect(results.elements == [true, true, true])
    }
  }
}

private struct TouchingCondition: FetchCondition {
  let touch: @Sendable (String) -> Void

  func isSatisfied(in context: QueryContext) -> Bool {
    self.touch("condition")
    return true
  }

  func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    self.touch("subscription")
    return .empty
  }
}

private struct TouchingDelayer: QueryDelayer {
  let touch: @Sendable (String) -> Void

  func delay(for seconds: TimeInterval) async throws { self.touch("delay") }
}

private struct TouchingLogger: QueryLogger {
  let touch: @Sendable (String) -> Void

  func log(level: QueryLogLevel, message: @autoclosure () -> String) { self.touch("log") }
}
