import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStoreSubscribeTests {
  private static func automaticContext() -> QueryContext {
    var context = QueryContext()
    context.enableAutomaticFetchingCondition = .always(true)
    return context
  }

  // MARK: - With a closure

  @Test func aClosureGetsWhatOnStateChangedGets() async throws {
    let store = ScriptedQuery.store { _, _ in 7 }
    let closure = Recorder<IntState>()
    let handler = Recorder<IntState>()
    let subscriptions = [
      store.subscribe(
        with: QueryEventHandler(onStateChanged: { state, _ in handler.append(state) })),
      store.subscribe { state in closure.append(state) },
    ]
    #expect(store.subscriberCount == 2)
    #expect(closure.elements.map(\.currentValue) == [nil])
    store.currentValue = 3
    try await store.fetch()
    #expect(closure.elements.map(\.currentValue) == [nil, 3, 3, 7])
    #expect(closure.elements.map(\.currentValue) == handler.elements.map(\.currentValue))
    #expect(closure.elements.map(\.isLoading) == handler.elements.map(\.isLoading))
    subscriptions[1].cancel()
    store.currentValue = 8
    #expect(closure.elements.count == 4)
    #expect(handler.elements.count == 5)
    #expect(store.subscriberCount == 1)
  }

  @Test func aClosureIsASubscriberThatStartsTheAutomaticFetch() async throws {
    let store = ScriptedQuery.store(in: Self.automaticContext()) { _, _ in 7 }
    var subscription: QuerySubscription? = store.subscribe { _ in }
    let task = try #require(store.activeTasks.first)
    #expect(try await task.runIfNeeded() == 7)
    #expect(subscription != nil)
    subscription = nil
    #expect(store.subscriberCount == 0)
  }

  @Test func aFunctionAndAShortClosureAreClosuresToo() {
    let store = ScriptedQuery.store()
    let values = Recorder<Int?>()
    @Sendable func show(_ state: IntState) { values.append(state.currentValue) }
    let subscriptions = [store.subscribe(show), store.subscribe { values.append($0.currentValue) }]
    store.currentValue = 1
    #expect(values.elements == [nil, nil, 1, 1])
    withExtendedLifetime(subscriptions) {}
  }

  // MARK: - The first call

  @Test func theStateNowComesBeforeSubscribeReturns() {
    let store = ScriptedQuery.store(in: QueryContext(mark: "store")) { _, _ in 1 }
    store.currentValue = 3
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    #expect(collector.events == [.stateChanged])
    #expect(collector.states.map(\.currentValue) == [3])
    #expect(collector.entries.elements.map(\.context.mark) == ["store"])
    #expect(collector.entries.elements.map(\.context.queryRunningTaskIdentifier) == [nil])
    withExtendedLifetime(subscription) {}
  }

  @Test func theFirstCallIsOverBeforeSubscribeReturnsWhateverOtherThreadsDo() async {
    let store = ScriptedQuery.store()
    // Keeps threads that deliver busy, so that others overtake them.
    let slow = store.subscribe(
      with: QueryEventHandler(onStateChanged: { _, _ in
        for _ in 0..<20 { _ = store.subscriberCount }
      })
    )
    defer { slow.cancel() }
    let isOver = Box(false)
    await runOnThreads(3) { thread in
      if thread > 0 {
        while !isOver.value { store.currentValue = thread }
        return
      }
      for _ in 0..<2_000 {
        let calls = Counter()
        let ended = Counter()
        let subscription = store.subscribe(
          with: QueryEventHandler(onStateChanged: { _, _ in
            guard calls.increment() == 1 else { return }
            for _ in 0..<20 { _ = store.subscriberCount }
            ended.increment()
          })
        )
        #expect(ended.value == 1)
        subscription.cancel()
      }
      isOver.value = true
    }
  }

  @Test func noOtherThreadMakesTheFirstCall() async {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let earlier = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        guard state.currentValue == 1 else { return }
        // The other subscription is made, and its first call is still to come on this thread.
        let isDone = DispatchSemaphore(value: 0)
        Thread {
          store.currentValue = 2
          isDone.signal()
        }.start()
        isDone.wait()
        #expect(collector.events == [])
      })
    )
    let later = store.withExclusiveAccess { store in
      store.currentValue = 1
      return store.subscribe(with: collector.handler)
    }
    #expect(collector.states.map(\.currentValue) == [1, 2])
    withExtendedLifetime((earlier, later)) {}
  }

  @Test func theFirstCallComesBeforeSubscribeReturnsAlsoInAHandler() {
    let store = ScriptedQuery.store()
    let inner = EventCollector<IntState>()
    let subscriptions = Recorder<QuerySubscription>()
    let outer = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        guard state.currentValue == 1 else { return }
        subscriptions.append(store.subscribe(with: inner.handler))
        #expect(inner.states.map(\.currentValue) == [1])
      })
    )
    store.currentValue = 1
    #expect(inner.states.map(\.currentValue) == [1])
    store.currentValue = 2
    #expect(inner.states.map(\.currentValue) == [1, 2])
    withExtendedLifetime(outer) {}
  }

  @Test func changesMadeInTheFirstCallFollowIt() {
    let store = ScriptedQuery.store()
    let values = Recorder<Int?>()
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        if state.currentValue == nil { store.currentValue = 1 }
        values.append(state.currentValue)
      })
    )
    #expect(values.elements == [nil, 1])
    withExtendedLifetime(subscription) {}
  }

  @Test func aLaterSubscriberGetsTheStateAndTheOthersNothing() {
    let store = ScriptedQuery.store()
    let first = EventCollector<IntState>()
    let second = EventCollector<IntState>()
    let subscriptions = [
      store.subscribe(with: first.handler), store.subscribe(with: second.handler),
    ]
    #expect(first.events == [.stateChanged])
    #expect(second.events == [.stateChanged])
    #expect(store.subscriberCount == 2)
    withExtendedLifetime(subscriptions) {}
  }

  // MARK: - The automatic fetch

  @Test func theFirstSubscriberOfAnAutomaticStoreStartsAFetch() async throws {
    let gate = Gate()
    let store = ScriptedQuery.store(in: Self.automaticContext()) { _, _ in
      try await gate.pass()
      return 1
    }
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    let task = try #require(store.activeTasks.first)
    #expect(task.hasStarted)
    #expect(collector.states.map(\.isLoading) == [false, true])
    let second = EventCollector<IntState>()
    let secondSubscription = store.subscribe(with: second.handler)
    #expect(second.events == [.stateChanged])
    #expect(store.activeTasks.map(\.id) == [task.id])
    gate.open()
    await collector.wait(for: .fetchingEnded)
    #expect(
      collector.events == [.stateChanged] + QueryStoreFetchTests.success
    )
    withExtendedLifetime((subscription, secondSubscription)) {}
  }

  @Test func theAutomaticFetchUsesTheTaskConfiguration() async {
    var context = Self.automaticContext()
    context.queryTaskConfiguration.name = "automatic"
    context.queryTaskConfiguration.priority = .low
    let seen = Recorder<String>()
    let store = ScriptedQuery.store(in: context) { _, _ in
      seen.append("\(Task.name ?? "") \(Task.currentPriority == .low)")
      return 1
    }
    let subscription = store.subscribe(with: QueryEventHandler())
    await seen.wait(forCount: 1)
    #expect(seen.elements == ["automatic true"])
    withExtendedLifetime(subscription) {}
  }

  @Test func theAutomaticFetchIsNotCancelledByTheTaskThatSubscribes() async {
    let seen = Recorder<Bool>()
    let store = ScriptedQuery.store(in: Self.automaticContext()) { _, _ in
      seen.append(Task.isCancelled)
      return 1
    }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return store.subscribe(with: QueryEventHandler())
    }
    let subscription = await task.value
    await seen.wait(forCount: 1)
    #expect(seen.elements == [false])
    withExtendedLifetime(subscription) {}
  }

  @Test func aStoreThatIsNotStaleOrNotAutomaticFetchesNothing() async throws {
    let manual = ScriptedQuery.store()
    let subscription = manual.subscribe(with: QueryEventHandler())
    #expect(!manual.isLoading)
    let fresh = IntStore.detached(
      query: ScriptedQuery { _, _ in 1 }.staleWhenNoValue().enableAutomaticFetching(
        onlyWhen: .always(true)
      ),
      initialValue: 1
    )
    #expect(fresh.isAutomaticFetchingEnabled)
    #expect(!fresh.isStale)
    let second = fresh.subscribe(with: QueryEventHandler())
    #expect(!fresh.isLoading)
    withExtendedLifetime((subscription, second)) {}
  }

  @Test func leavingAndComingBackMayFetchAgain() async {
    let counter = Counter()
    let store = ScriptedQuery.store(in: Self.automaticContext()) { _, _ in counter.increment() }
    for round in 1...3 {
      let collector = EventCollector<IntState>()
      let subscription = store.subscribe(with: collector.handler)
      await collector.wait(for: .fetchingEnded)
      #expect(counter.value == round)
      subscription.cancel()
      #expect(store.subscriberCount == 0)
    }
  }

  @Test func cancellingTheLastSubscriptionCancelsTheAutomaticFetchAndNotEarlier() async throws {
    let gate = Gate()
    let store = ScriptedQuery.store(in: Self.automaticContext()) { _, _ in
      try await gate.pass()
      return 1
    }
    let first = store.subscribe(with: QueryEventHandler())
    let second = store.subscribe(with: QueryEventHandler())
    await gate.arrival()
    let task = try #require(store.activeTasks.first)
    first.cancel()
    #expect(task.isRunning)
    second.cancel()
    #expect(task.isCancelled)
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
    while store.isLoading { await Task.yield() }
    // No caller asked for the fetch, so its end is no error of the query.
    #expect(store.error == nil && store.errorUpdateCount == 0)
    #expect(store.status.isIdle)
  }

  @Test func cancellingTheLastSubscriptionCancelsAllAutomaticFetches() async throws {
    let gate = Gate()
    let store = ScriptedQuery.store(in: Self.automaticContext()) { _, _ in
      try await gate.pass()
      return 1
    }
    let subscription = store.subscribe(with: QueryEventHandler())
    await gate.arrival()
    store.invalidate()
    await gate.arrival(2)
    let tasks = store.activeTasks
    #expect(tasks.count == 2)
    subscription.cancel()
    #expect(tasks.allSatisfy { $0.isCancelled })
    while store.isLoading { await Task.yield() }
    #expect(store.error == nil && store.errorUpdateCount == 0)
  }

  @Test func aSubscriptionThatEndsWhileTheConditionsAreAskedFetchesNothing() {
    let subscription = Box(QuerySubscription.empty)
    let states = Recorder<IntState>()
    let condition = AskedCondition {
      subscription.value.cancel()
      return true
    }
    let query = ScriptedQuery { _, _ in 1 }.enableAutomaticFetching(onlyWhen: condition)
    let store = IntStore.detached(query: query.staleWhenNoValue(), initialValue: 1)
    subscription.value = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in states.append(state) })
    )
    #expect(store.subscriberCount == 1)
    store.invalidate()
    #expect(store.subscriberCount == 0)
    #expect(states.elements.map(\.isLoading) == [false, false])
    #expect(!store.isLoading)
    #expect(store.error == nil && store.errorUpdateCount == 0)
  }

  @Test func leavingDoesNotCancelAFetchByHand() async throws {
    let gate = Gate()
    let store = ScriptedQuery.store { _, _ in
      try await gate.pass()
      return 1
    }
    let subscription = store.subscribe(with: QueryEventHandler())
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    subscription.cancel()
    gate.open()
    #expect(try await fetch.value == 1)
  }

  @Test func leavingDoesNotCancelAFetchThatIsSharedWithTheAutomaticOne() async throws {
    let gate = Gate()
    let counter = Counter()
    let store = IntStore.detached(
      query: ScriptedQuery { _, _ in
        counter.increment()
        try await gate.pass()
        return 1
      }.deduplicated(),
      initialValue: nil,
      initialContext: Self.automaticContext()
    )
    let subscription = store.subscribe(with: QueryEventHandler())
    await gate.arrival()
    let started = EventCollector<IntState>()
    let fetch = Task { try await store.fetch(handler: started.handler) }
    await started.wait(for: .fetchingStarted)
    for _ in 0..<20 { await Task.yield() }
    subscription.cancel()
    gate.open()
    #expect(try await fetch.value == 1)
  }

  // MARK: - Ending

  @Test func aSubscriptionEndsWithItsLastCopy() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    var copies = [store.subscribe(with: collector.handler)]
    copies.append(copies[0])
    copies.removeLast()
    store.currentValue = 1
    #expect(collector.states.map(\.currentValue) == [nil, 1])
    copies.removeAll()
    #expect(store.subscriberCount == 0)
    store.currentValue = 2
    #expect(collector.states.map(\.currentValue) == [nil, 1])
  }

  @Test func nothingIsCalledAfterCancel() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    subscription.cancel()
    store.currentValue = 1
    store.reset()
    subscription.cancel()
    #expect(store.subscriberCount == 0)
    #expect(collector.events == [.stateChanged])
  }

  @Test func eventsThatWaitAreDroppedByCancelInTheHandler() {
    let store = ScriptedQuery.store()
    let values = Recorder<Int?>()
    let subscription = Box(QuerySubscription.empty)
    subscription.value = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        values.append(state.currentValue)
        guard state.currentValue == 1 else { return }
        store.currentValue = 2
        store.currentValue = 3
        subscription.value.cancel()
        store.currentValue = 4
      })
    )
    store.currentValue = 1
    #expect(values.elements == [nil, 1])
    #expect(store.subscriberCount == 0)
    #expect(store.currentValue == 4)
  }

  @Test func aSubscriptionDoesNotKeepTheStore() {
    var store: IntStore? = ScriptedQuery.store()
    weak let released = store
    let subscription = store?.subscribe(with: QueryEventHandler(onStateChanged: { _, _ in }))
    store = nil
    #expect(released == nil)
    subscription?.cancel()
  }

  @Test func aHandlerWithoutClosuresCountsAsSubscriber() {
    let store = ScriptedQuery.store()
    let subscription = store.subscribe(with: QueryEventHandler())
    #expect(store.subscriberCount == 1)
    subscription.cancel()
    #expect(store.subscriberCount == 0)
  }
}

/// A condition that asks a closure.
private struct AskedCondition: FetchCondition {
  let answer: @Sendable () -> Bool

  func isSatisfied(in context: QueryContext) -> Bool { self.answer() }

  func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription { .empty }
}
