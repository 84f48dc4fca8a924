import Foundation
import TestSupport
import Testing

@testable import Query

@Suite(.warningsAreIssues) struct PeriodicRefetchTests {
  private typealias Store = QueryStore<QueryState<Int?, Int>>

  private let time = ManualTime()
  private let ended = Recorder<Int>()
  private let context: QueryContext

  init() {
    var context = QueryContext()
    context.turnSchedule = self.time.schedule
    context.enableAutomaticFetchingCondition = .always(true)
    self.context = context
  }

  /// A store that does nothing by itself but its periodic refetches.
  private func store(
    every interval: Duration = .seconds(10), inBackground: Bool = false,
    in context: QueryContext? = nil,
    onFetch: @escaping @Sendable () async throws -> Void = {}
  ) -> Store {
    let fetches = Counter()
    let query = probe { _, _ in
      try await onFetch()
      fetches.increment()
      return fetches.value
    }
    return QueryStore.detached(
      query: query.staleWhen { _, _ in false }.refetch(every: interval, inBackground: inBackground)
        .handleEvents(
          with: QueryEventHandler(onFetchingEnded: { [ended] _ in ended.append(fetches.value) })),
      initialValue: nil, initialContext: context ?? self.context)
  }

  @Test func aStoreWithASubscriberIsRefetchedAgainAndAgain() async {
    let store = self.store()
    let subscription = store.subscribe(with: QueryEventHandler())
    for round in 1...3 {
      await self.time.sleeps.wait(forCount: round)
      #expect(self.ended.count == round - 1)
      self.time.advance(by: .seconds(9))
      #expect(self.time.sleeperCount == 1, "its time has not come")
      self.time.advance(by: .seconds(1))
      await self.ended.wait(forCount: round)
    }
    #expect(store.currentValue == 3)
    subscription.cancel()
    #expect(self.time.sleeperCount == 0)
  }

  @Test func withoutASubscriberNothingIsScheduled() async throws {
    let store = self.store()
    try await store.fetch()
    #expect(self.time.sleeps.count == 0)
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.time.sleeps.wait(forCount: 1)
    subscription.cancel()
    #expect(self.time.sleeperCount == 0)
    self.time.advance(by: .seconds(100))
    #expect(self.ended.count == 1)
  }

  @Test func theTimeBeginsAnewWithTheEndOfAnyFetch() async throws {
    let store = self.store()
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.time.sleeps.wait(forCount: 1)
    self.time.advance(by: .seconds(6))
    try await store.fetch()
    await self.time.sleeps.wait { $0.last == self.time.now + .seconds(10) }
    subscription.cancel()
  }

  @Test func aFetchThatTakesLongerThanTheIntervalIsNotOvertaken() async {
    let gate = Gate()
    let store = self.store(every: .seconds(1)) { try await gate.pass() }
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.time.sleeps.wait(forCount: 1)
    self.time.advance(by: .seconds(1))
    await gate.arrival()
    #expect(self.time.sleeperCount == 0)
    self.time.advance(by: .seconds(60))
    #expect(gate.arrivals == 1)
    gate.open()
    await self.time.sleeps.wait(forCount: 2)
    #expect(self.time.sleeps.elements.last == self.time.now + .seconds(1))
    subscription.cancel()
  }

  @Test func anErrorEndsAFetchLikeAValue() async {
    let store = self.store { throw TestError() }
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.time.sleeps.wait(forCount: 1)
    self.time.advance(by: .seconds(10))
    await self.time.sleeps.wait(forCount: 2)
    #expect(store.error as? TestError == TestError())
    subscription.cancel()
  }

  @Test(arguments: UnbegunEnd.allCases)
  fileprivate func aTurnWhoseFetchEndsBeforeItBeganIsNotTheLast(end: UnbegunEnd) async {
    let store = self.store()
    let schedulings = Counter()
    let subscription = store.subscribe { [weak store] state in
      // The turn has scheduled the fetch, and has still to start it.
      guard let store, state.isLoading, schedulings.increment() == 1 else { return }
      switch end {
      case .cancelFetches: store.cancelFetches()
      case .reset: store.reset()
      case .cancel: store.activeTasks.first?.cancel()
      }
    }
    await self.time.sleeps.wait(forCount: 1)
    self.time.advance(by: .seconds(10))
    let next = self.time.now + .seconds(10)
    await self.time.sleeps.wait { $0.last == next }
    #expect(self.ended.count == 0)
    self.time.advance(by: .seconds(10))
    await self.ended.wait(forCount: 1)
    #expect(schedulings.value >= 2)
    subscription.cancel()
  }

  @Test func aFetchThatBeganBeforeItsStoreWasAddedLetsNoTwoOverlap() async throws {
    let gate = Gate()
    let client = QueryClient(
      defaultContext: self.context,
      storeCache: QueryClient.DefaultStoreCache(memoryPressureSource: nil))
    let query = probe { _, _ in
      try await gate.pass()
      return 1
    }
    .staleWhen { _, _ in false }.refetch(every: .seconds(10))
    // The controllers of a store are started when it is in the client, so they miss the beginning.
    let first = client.withStores { stores, create in
      let store = create(for: query)
      stores.update(OpaqueQueryStore(erasing: store))
      return Task.immediate { try await store.fetch() }
    }
    gate.letOneThrough()
    _ = try await first.value
    let store = client.store(for: query)
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.time.sleeps.wait(forCount: 1)
    self.time.advance(by: .seconds(10))
    await gate.arrival(2)
    #expect(self.context.turnSchedule.count == 0, "the next turn waits for the end of this one")
    gate.open()
    let next = self.time.now + .seconds(10)
    await self.time.sleeps.wait { $0.last == next }
    subscription.cancel()
  }

  @Test func offlineItPausesAndWhatWasMissedComesWithTheNetwork() async {
    let observer = MockNetworkObserver()
    var context = self.context
    context.networkObserver = observer
    let store = self.store(in: context)
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.time.sleeps.wait(forCount: 1)
    observer.send(status: .disconnected)
    #expect(self.time.sleeperCount == 0)
    self.time.advance(by: .seconds(25))
    observer.send(status: .connected)
    await self.ended.wait(forCount: 1)
    subscription.cancel()
  }

  @Test func aShortPauseChangesNothing() async {
    let observer = MockNetworkObserver()
    var context = self.context
    context.networkObserver = observer
    let store = self.store(in: context)
    let subscription = store.subscribe(with: QueryEventHandler())
    let due = self.time.now + .seconds(10)
    await self.time.sleeps.wait(forCount: 1)
    observer.send(status: .disconnected)
    self.time.advance(by: .seconds(5))
    observer.send(status: .connected)
    await self.time.sleeps.wait(forCount: 2)
    #expect(self.time.sleeps.elements == [due, due])
    subscription.cancel()
  }

  @Test(arguments: [false, true])
  func anInactiveApplicationPausesItUnlessToldOtherwise(_ inBackground: Bool) async {
    let activity = ManualActivity()
    var context = self.context
    context.applicationActivityObserver = activity
    let store = self.store(inBackground: inBackground, in: context)
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.time.sleeps.wait(forCount: 1)
    activity.send(false)
    #expect(self.time.sleeperCount == (inBackground ? 1 : 0))
    subscription.cancel()
  }

  @Test func aStoreThatDoesNotFetchByItselfIsNotRefetched() async {
    var context = self.context
    context.enableAutomaticFetchingCondition = .always(false)
    let store = self.store(in: context)
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.time.sleeps.wait(forCount: 1)
    self.time.advance(by: .seconds(10))
    // It looks again when the next time has come.
    await self.time.sleeps.wait(forCount: 2)
    #expect(self.ended.count == 0)
    subscription.cancel()
  }

  @Test func manyStoresShareAWakeUp() async {
    let stores = (0..<1_000).map { _ in self.store() }
    var subscriptions = [QuerySubscription]()
    for (index, store) in stores.enumerated() {
      subscriptions.append(store.subscribe(with: QueryEventHandler()))
      // All within a tenth of the interval.
      if index.isMultiple(of: 100) { self.time.advance(by: .milliseconds(50)) }
    }
    await self.time.sleeps.wait(forCount: 1)
    self.time.advance(by: .seconds(10))
    await self.ended.wait(forCount: 1_000)
    #expect(self.time.wakeups.value == 1)
    for subscription in subscriptions { subscription.cancel() }
    #expect(self.time.sleeperCount == 0)
  }

  @Test func storesThatBeganApartComeIntoStep() async {
    let stores = (0..<100).map { _ in self.store() }
    var subscriptions = [QuerySubscription]()
    for store in stores {
      subscriptions.append(store.subscribe(with: QueryEventHandler()))
      self.time.advance(by: .milliseconds(97))
    }
    // Each is in step after ten periods, however the time passes meanwhile.
    for _ in 0..<1_100 {
      self.time.advance(by: .milliseconds(100))
      await self.everyStoreWaits(in: stores)
    }
    let (wakeups, fetches) = (self.time.wakeups.value, self.ended.count)
    for _ in 0..<500 {
      self.time.advance(by: .milliseconds(100))
      await self.everyStoreWaits(in: stores)
    }
    #expect(self.time.wakeups.value - wakeups == 5)
    #expect(self.ended.count - fetches == 500)
    for subscription in subscriptions { subscription.cancel() }
  }

  /// Waits until each store has its next turn, and a timer is set.
  private func everyStoreWaits(in stores: [Store]) async {
    let schedule = self.context.turnSchedule
    while self.time.sleeperCount == 0 || schedule.count < stores.count { await Task.yield() }
  }

  @Test func aTurnThatIsInStepIsNotCalledEarlierThanOneThatIsNot() async {
    let schedule = self.context.turnSchedule
    let members = [schedule.join(), schedule.join()]
    let (start, owners) = (self.time.now, [Counter(), Counter()])
    let called = Recorder<Int>()
    // In step after 10 s, and not before 9.4 s, a tenth of its period ahead of its deadline.
    schedule.set(owners[0], at: start + .milliseconds(10_400), every: .seconds(10)) {
      called.append(0)
    }
    schedule.set(owners[1], at: start + .seconds(9), slack: .zero) { called.append(1) }
    await self.time.sleeps.wait { $0.contains(start + .seconds(9)) }
    self.time.advance(by: .seconds(9))
    #expect(await called.wait(forCount: 1).first == 1)
    #expect(schedule.count == 1)
    withExtendedLifetime((members, owners)) {}
  }

  @Test func aStoreThatIsReleasedTakesItsTurnBack() async {
    weak var weakStore: Store?
    do {
      let store = self.store()
      weakStore = store
      let subscription = store.subscribe(with: QueryEventHandler())
      await self.time.sleeps.wait(forCount: 1)
      withExtendedLifetime(subscription) {}
    }
    #expect(weakStore == nil)
    #expect(self.time.sleeperCount == 0)
  }

  /// The last reference to it may be the one with which a change is recorded.
  @Test func aStoreMayBeReleasedWhileTheNetworkTellsOfAChange() async {
    let (observer, tellings, isOver) = (BareNetwork(), Counter(), Box(false))
    var context = self.context
    context.networkObserver = observer
    await runOnThreads(2) { [context] thread in
      guard thread == 0 else {
        while !isOver.value {
          observer.handler.value?(.connected)
          tellings.increment()
        }
        return
      }
      for round in 0..<200 {
        var store: Store? = self.store(in: context)
        // The second telling from here on is of this store. Each round ends at another moment.
        let begun = tellings.value
        while tellings.value < begun + 2 { sched_yield() }
        for _ in 0..<round % 100 { _ = observer.currentStatus }
        weak let released = store
        withExtendedLifetime(store) {}
        store = nil
        while released != nil { sched_yield() }
      }
      isOver.value = true
    }
  }

  @Test func byTheRealClock() async {
    let query = ProbeQuery().refetch(every: .milliseconds(1))
      .handleEvents(with: QueryEventHandler(onFetchingEnded: { [ended] _ in ended.append(0) }))
    let store = QueryClient().store(for: query)
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.ended.wait(forCount: 5)
    subscription.cancel()
  }

  /// A number that is shorter than any duration is one nevertheless.
  @Test func byAsShortAnIntervalAsThereIs() async {
    let query = ProbeQuery().refetch(every: 1e-300)
      .handleEvents(with: QueryEventHandler(onFetchingEnded: { [ended] _ in ended.append(0) }))
    let store = QueryClient().store(for: query)
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.ended.wait(forCount: 5)
    subscription.cancel()
  }

  @Test func anIntervalThatIsNotPositiveStopsTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = ProbeQuery().refetch(every: .zero)
    }
    try expectSentence("ProbeQuery: refetch(every:)", in: result)
  }
}

/// A network whose observer a test calls itself, whatever else happens at that time.
private final class BareNetwork: NetworkObserver {
  let handler = Box<(@Sendable (NetworkConnectionStatus) -> Void)?>(nil)

  var currentStatus: NetworkConnectionStatus { .connected }

  func subscribe(
    with handler: @escaping @Sendable (NetworkConnectionStatus) -> Void
  ) -> QuerySubscription {
    handler(.connected)
    self.handler.value = handler
    return .empty
  }
}

/// How a fetch ends that was scheduled and has not begun.
private enum UnbegunEnd: CaseIterable {
  case cancelFetches, reset, cancel
}
