import Foundation
import Query
import Synchronization
import TestSupport
import Testing

// Document 004: the modifiers of a recursive query that decide about automatic fetches, refetches,
// controllers and eviction.

private typealias State = RecursiveQueryState<Comment>

private let thread = CommentThreadQuery(rootNodeId: 0)

@Suite("Document 004: automation of a recursive query", .warningsAreIssues)
struct RecursiveQueryAutomationTests {
  @Test("enableAutomaticFetching(onlyWhen:) fetches the root for the first subscriber")
  func enableAutomaticFetching() async throws {
    let api = CommentsAPI()
    let store = QueryStore.comments(thread.enableAutomaticFetching(onlyWhen: .always(true)), api)
    let collector = EventCollector<State>()
    let subscription = store.subscribe(with: collector.handler)
    await collector.wait(for: .fetchingEnded)
    #expect(api.calls.elements == [0])
    #expect(store.currentValue.children.map(\.nodeId) == [10, 20])
    #expect(try await store.fetchTree(for: 10).nodeId == 10)
    subscription.cancel()
  }

  @Test("disableAutomaticFetching() leaves the fetching to its callers")
  func disableAutomaticFetching() async throws {
    let store = QueryStore.comments(thread.disableAutomaticFetching())
    let subscription = store.subscribe(with: QueryEventHandler<State>())
    #expect(!store.isAutomaticFetchingEnabled)
    #expect(!store.isLoading)
    #expect(try await store.fetchTree(for: 10).nodeId == 10)
    subscription.cancel()
  }

  @Test("stale(after:) counts from the last subtree")
  func staleAfter() async throws {
    let clock = TestClock()
    let store = QueryStore.comments(thread.stale(after: 60).clock(clock))
    #expect(store.isStale)
    try await store.fetchTree(for: 10)
    clock.advance(by: 60)
    #expect(!store.isStale)
    clock.advance(by: 1)
    #expect(store.isStale)
  }

  @Test("staleWhen(predicate:) gets the recursive state")
  func staleWhenPredicate() async throws {
    let store = QueryStore.comments(
      thread.staleWhen { state, _ in state.currentValue.children.isEmpty }
    )
    #expect(store.isStale)
    try await store.fetchTree(for: 0)
    #expect(!store.isStale)
  }

  @Test("staleWhen(condition:) follows its condition")
  func staleWhenCondition() async throws {
    let condition = ManualCondition(false)
    let store = QueryStore.comments(thread.staleWhen(condition: condition))
    #expect(!store.isStale)
    condition.send(true)
    #expect(store.isStale)
    try await store.fetchTree(for: 10)
    #expect(store.isStale)
  }

  @Test("refetchOnChange(of:) refetches the root")
  func refetchOnChange() async throws {
    let condition = ManualCondition(false)
    let api = CommentsAPI()
    let store = QueryStore.comments(
      thread
        .refetchOnChange(of: condition)
        .enableAutomaticFetching(onlyWhen: .always(true)),
      api
    )
    let collector = EventCollector<State>()
    let subscription = store.subscribe(with: collector.handler)
    await collector.wait(for: .fetchingEnded)
    try await store.fetchTree(for: 10)

    condition.send(true)
    await collector.wait(for: .fetchingEnded, count: 3)
    #expect(api.calls.elements == [0, 10, 0])
    subscription.cancel()
  }

  @Test("controlled(by:) lets a controller yield a subtree")
  func controlled() async throws {
    let controller = AnsweringController()
    let store = QueryStore.comments(thread.controlled(by: controller))
    try await store.fetch()
    let controls = try #require(controller.controls.elements.first)

    controls.yield(Comment(nodeId: 20, children: [Comment(nodeId: 29)]))

    #expect(store.currentValue[id: 29] == Comment(nodeId: 29))
    #expect(store.currentValue.children.map(\.nodeId) == [10, 20])
    #expect(try await store.fetchTree(for: 10).nodeId == 10)
    controls.yieldReset()
    #expect(store.currentValue == Comment(nodeId: 0))
  }

  @Test("evictWhen(pressure:) says when its store leaves the memory")
  func evictWhen() async throws {
    let source = ManualPressureSource()
    let client = QueryClient(
      storeCache: QueryClient.DefaultStoreCache(memoryPressureSource: source)
    )
    let kept = client.store(
      for: thread.evictWhen(pressure: .critical),
      initialState: State(initialValue: Comment(nodeId: 0))
    )
    try await kept.fetchTree(for: 10)

    source.send(.warning)
    #expect(client.store(with: kept.path)?.base as? QueryStore<State> === kept)
    source.send(.critical)
    #expect(client.store(with: kept.path) == nil)
    #expect(try await kept.fetchTree(for: 10).nodeId == 10)
  }

  @Test("completelyOffline() needs no network, and no retries of a client")
  func completelyOffline() async throws {
    let api = CommentsAPI { id, _ in if id == 10 { throw TestError() } }
    let network = MockNetworkObserver(initialStatus: .disconnected)
    let client = QueryClient(
      defaultContext: .comments(api),
      storeCreator: .default(delayer: .noDelay, networkObserver: network, activityObserver: nil)
    )
    let store = client.store(
      for: thread.completelyOffline(),
      initialState: State(initialValue: Comment(nodeId: 0))
    )
    #expect(store.context.satisfiedConnectionStatus == .disconnected)

    await #expect(throws: TestError()) { try await store.fetchTree(for: 10) }
    #expect(api.calls.elements == [10])
  }

  @Test("satisfiedConnectionStatus(_:) says how good the network must be for it")
  func satisfiedConnectionStatus() async throws {
    let network = MockNetworkObserver(initialStatus: .requiresConnection)
    let store = QueryStore.comments(
      thread
        .suspend(on: .connected(to: network))
        .satisfiedConnectionStatus(.requiresConnection)
    )
    #expect(try await store.fetchTree(for: 10).nodeId == 10)
    #expect(network.subscriberCount == 0)
  }

  @Test("disableApplicationActiveRefetching() keeps it from being refetched on activity")
  func disableApplicationActiveRefetching() async throws {
    let activity = ManualActivityObserver()
    let api = CommentsAPI()
    let query =
      thread
      .refetchOnChange(of: .applicationIsActive(observer: activity))
      .enableAutomaticFetching(onlyWhen: .always(true))
    let refetched = QueryStore.comments(query, api)
    let left = QueryStore.comments(query.disableApplicationActiveRefetching())
    let collector = EventCollector<State>()
    let subscriptions = [
      refetched.subscribe(with: collector.handler), left.subscribe(with: collector.handler),
    ]
    await collector.wait(for: .fetchingEnded, count: 2)

    activity.send(false)
    activity.send(true)
    #expect(!left.isLoading)
    await collector.wait(for: .fetchingEnded, count: 3)
    #expect(api.calls.elements == [0, 0])
    #expect(left.valueUpdateCount == 1)
    for subscription in subscriptions { subscription.cancel() }
  }
}

private final class AnsweringController: QueryController {
  let controls = Recorder<QueryControls<State>>()

  func control(with controls: QueryControls<State>) -> QuerySubscription {
    self.controls.append(controls)
    return .empty
  }
}

private final class ManualPressureSource: MemoryPressureSource, Sendable {
  private let handlers = Recorder<@Sendable (MemoryPressure) -> Void>()

  func send(_ pressure: MemoryPressure) {
    for handler in self.handlers.elements { handler(pressure) }
  }

  func subscribe(
    with handler: @escaping @Sendable (MemoryPressure) -> Void
  ) -> QuerySubscription {
    self.handlers.append(handler)
    return .empty
  }
}

private final class ManualActivityObserver: ApplicationActivityObserver {
  private let handlers = Recorder<@Sendable (Bool) -> Void>()

  func send(_ isActive: Bool) {
    for handler in self.handlers.elements { handler(isActive) }
  }

  func subscribe(_ handler: @escaping @Sendable (Bool) -> Void) -> QuerySubscription {
    self.handlers.append(handler)
    return .empty
  }
}
