import Foundation
import Query
import Synchronization
import TestSupport
import Testing

/// What handlers do to stores, from inside.
@Suite(.warningsAreIssues) struct QueryStoreReentrancyTests {
  /// A value whose `deinit` reads and changes the store that shows it.
  private final class Reader: Sendable {
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

    deinit { self.onRelease() }
  }

  private typealias ReaderStore = QueryStore<QueryState<Reader?, Reader>>

  @Test func aValueOrAnErrorThatReadsItsStoreAsItIsReleased() async throws {
    let store: ReaderStore = .detached(
      query: ScriptedQuery<Reader> { _, continuation in
        continuation.yield(Reader {})
        return Reader {}
      },
      initialValue: nil
    )
    let counts = Recorder<Int>()
    func reader() -> Reader {
      Reader { [weak store] in
        guard let store else { return }
        counts.append(store.state.valueUpdateCount)
        store.context = store.context
      }
    }
    struct Failure: Error { let reader: Reader }
    store.currentValue = reader()
    store.currentValue = reader()
    #expect(counts.elements == [2])
    store.reset()
    #expect(counts.elements == [2, 0])
    store.setResult(to: .failure(Failure(reader: reader())))
    store.setResult(to: .failure(Failure(reader: reader())))
    #expect(counts.elements == [2, 0, 0])
    store.currentValue = reader()
    #expect(counts.elements == [2, 0, 0, 1])
    // By a yield, by the end of a fetch, and by a cancelled fetch.
    try await store.fetch()
    #expect(counts.elements == [2, 0, 0, 1, 2])
    store.setResult(to: .failure(Failure(reader: reader())))
    store.fetchTask().cancel()
    #expect(counts.elements == [2, 0, 0, 1, 2, 3])
  }

  @Test func aPageThatReadsItsStoreAsItIsReleased() async throws {
    let ids = Recorder<[Int]>()
    let reference = Box<(@Sendable () -> [Int]?)?>(nil)
    let store = QueryStore.detached(
      query: ReaderPages { Reader { if let now = reference.value?() { ids.append(now) } } })
    reference.value = { [weak store] in store?.state.currentValue.ids }
    try await store.fetchNextPage()
    try await store.fetchNextPage()
    #expect(ids.elements == [])
    try await store.fetchAllPages()
    #expect(ids.elements == [[0, 1], [0, 1]])
    store.currentValue = []
    #expect(ids.elements == [[0, 1], [0, 1], [], []])
    reference.value = nil
  }

  private struct ReaderPages: InfiniteQueryRequest {
    let path: QueryPath = ["readers"]
    let initialPageId = 0
    let reader: @Sendable () -> Reader

    init(_ reader: @escaping @Sendable () -> Reader) { self.reader = reader }

    func pageId(
      after page: InfiniteQueryPage<Int, Reader>,
      using paging: InfiniteQueryPaging<Int, Reader>,
      in context: QueryContext
    ) -> Int? { page.id + 1 }

    func fetchPage(
      using paging: InfiniteQueryPaging<Int, Reader>,
      in context: QueryContext,
      with continuation: QueryContinuation<Reader>
    ) async throws -> Reader { self.reader() }
  }

  enum Place: CaseIterable {
    case stateChanged
    case fetchingStarted
    case fetchingEnded
    case resultReceived
  }

  enum Action: CaseIterable {
    case read
    case set
    case reset
    case subscribe
    case cancelOwn
    case fetchTask
    case fetch
    case exclusiveAccess
    case context
  }

  /// Does everything that a handler may do, once for each call.
  private static func perform(
    _ action: Action,
    on store: IntStore,
    own: Box<QuerySubscription>,
    fetches: Recorder<Task<Int, any Error>>
  ) {
    switch action {
    case .read:
      #expect(store.subscriberCount >= 0)
      #expect(store.valueUpdateCount >= 0)
      _ = store.state.status.isLoading
    case .set: store.currentValue = 7
    case .reset: store.reset()
    case .subscribe:
      let calls = Counter()
      let inner = store.subscribe(
        with: QueryEventHandler(onStateChanged: { _, _ in calls.increment() })
      )
      #expect(calls.value >= 1)
      inner.cancel()
    case .cancelOwn: own.value.cancel()
    case .fetchTask: store.fetchTask()
    case .fetch: fetches.append(Task { try await store.fetch() })
    case .exclusiveAccess:
      store.withExclusiveAccess { store in
        store.currentValue = 1
        store.currentValue = 2
      }
    case .context: store.context.mark = "handler"
    }
  }

  @Test(arguments: Place.allCases, Action.allCases)
  func aHandlerMayDoAnythingToItsStoreAndToOthers(_ place: Place, _ action: Action) async throws {
    let store = ScriptedQuery.store { _, continuation in
      continuation.yield(5)
      return 1
    }
    let other = ScriptedQuery.store()
    let own = Box(QuerySubscription.empty)
    let fetches = Recorder<Task<Int, any Error>>()
    let calls = Counter()
    let act: @Sendable () -> Void = {
      // Changes that a handler makes call it again: without an end, that would go on for ever.
      guard calls.increment() <= 3 else { return }
      Self.perform(action, on: store, own: own, fetches: fetches)
      Self.perform(action, on: other, own: own, fetches: fetches)
    }
    var handler = QueryEventHandler<IntState>()
    switch place {
    case .stateChanged: handler.onStateChanged = { _, _ in act() }
    case .fetchingStarted: handler.onFetchingStarted = { _ in act() }
    case .fetchingEnded: handler.onFetchingEnded = { _ in act() }
    case .resultReceived: handler.onResultReceived = { _, _ in act() }
    }
    own.value = store.subscribe(with: handler)
    _ = await Task { [handler] in try await store.fetch(handler: handler) }.result
    #expect(calls.value > 0)
    for fetch in fetches.elements { _ = await fetch.result }
    own.value.cancel()
    #expect(store.subscriberCount == 0)
    #expect(!store.isLoading)
    #expect(!other.isLoading)
  }

  @Test func aChangeMadeInAHandlerFollowsTheCallForEveryHandler() {
    let store = ScriptedQuery.store()
    let log = Recorder<String>()
    let subscriptions = ["a", "b"].map { name in
      store.subscribe(
        with: QueryEventHandler(onStateChanged: { state, _ in
          let value = state.currentValue ?? 0
          log.append("\(name)\(value)")
          if name == "a" && value == 1 { store.currentValue = 2 }
          log.append("\(name)\(value) ends")
        })
      )
    }
    log.removeAll()
    store.currentValue = 1
    #expect(log.elements.filter { $0.hasPrefix("a") } == ["a1", "a1 ends", "a2", "a2 ends"])
    #expect(log.elements.filter { $0.hasPrefix("b") } == ["b1", "b1 ends", "b2", "b2 ends"])
    withExtendedLifetime(subscriptions) {}
  }

  @Test func aHandlerMayEndTheSubscriptionOfAnother() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let second = Box(QuerySubscription.empty)
    let first = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        if state.currentValue == 1 { second.value.cancel() }
      })
    )
    second.value = store.subscribe(with: collector.handler)
    store.currentValue = 1
    #expect(collector.events == [.stateChanged])
    withExtendedLifetime(first) {}
  }

  @Test func aHandlerThatIsAddedInAHandlerSeesOnlyLaterChanges() {
    let store = ScriptedQuery.store()
    let added = EventCollector<IntState>()
    let subscriptions = Recorder<QuerySubscription>()
    let first = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        guard state.currentValue == 1 else { return }
        store.currentValue = 2
        subscriptions.append(store.subscribe(with: added.handler))
        store.currentValue = 3
      })
    )
    store.currentValue = 1
    #expect(added.states.map(\.currentValue) == [2, 3])
    withExtendedLifetime(first) {}
  }

  @Test func storesThatCallEachOtherCrosswiseFromManyThreadsDoNotHang() async {
    let stores = (0..<3).map { _ in ScriptedQuery.store() }
    let remaining = Atomic(4_000)
    let subscriptions = stores.indices.map { index in
      stores[index].subscribe(
        with: QueryEventHandler(onStateChanged: { state, _ in
          guard remaining.wrappingSubtract(1, ordering: .relaxed).newValue > 0 else { return }
          let next = stores[(index + 1) % stores.count]
          let previous = stores[(index + 2) % stores.count]
          next.currentValue = (state.currentValue ?? 0) + 1
          _ = previous.subscriberCount
          _ = next.withExclusiveAccess { $0.state.currentValue }
          previous.subscribe(with: QueryEventHandler(onStateChanged: { _, _ in })).cancel()
          if state.valueUpdateCount % 16 == 0 { previous.reset() }
          if state.valueUpdateCount % 8 == 0 { next.fetchTask().cancel() }
          next.fetchTask()
        })
      )
    }
    await runOnThreads(6) { thread in
      let store = stores[thread % stores.count]
      for round in 0..<200 {
        switch round % 4 {
        case 0: store.currentValue = round
        case 1: store.fetchTask()
        case 2: store.setResult(to: .failure(TestError()))
        default:
          store.subscribe(with: QueryEventHandler(onStateChanged: { _, _ in })).cancel()
        }
      }
    }
    for subscription in subscriptions { subscription.cancel() }
    // A thread that delivered for long left the rest to a task, which may be in a handler still.
    for store in stores { while store.isLoading { await Task.yield() } }
    for store in stores { #expect(store.subscriberCount == 0) }
  }

  @Test func fetchesOfHandlersOnStoresThatCallEachOtherEnd() async {
    let stores = (0..<2).map { _ in
      ScriptedQuery.store { _, continuation in
        continuation.yield(1)
        return 2
      }
    }
    let started = Atomic(0)
    let fetches = Recorder<Task<Int, any Error>>()
    let subscriptions = stores.indices.map { index in
      stores[index].subscribe(
        with: QueryEventHandler(onFetchingEnded: { _ in
          guard started.wrappingAdd(1, ordering: .relaxed).newValue <= 300 else { return }
          fetches.append(Task { try await stores[1 - index].fetch(handler: QueryEventHandler()) })
        })
      )
    }
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<20 { group.addTask { _ = try? await stores[index % 2].fetch() } }
    }
    let all = await fetches.wait(forCount: 300)
    for fetch in all { #expect((try? await fetch.value) == 2) }
    #expect(stores.map(\.isLoading) == [false, false])
    #expect(stores.map(\.valueUpdateCount).reduce(0, +) == 640)
    for subscription in subscriptions { subscription.cancel() }
  }
}
