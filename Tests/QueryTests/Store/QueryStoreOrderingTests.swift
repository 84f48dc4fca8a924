import Foundation
import Query
import TestSupport
import Testing

/// The order of events if many threads change one store.
@Suite(.warningsAreIssues) struct QueryStoreOrderingTests {
  @Test func eachHandlerSeesAllChangesInTheirOrder() async {
    let store = ScriptedQuery.store()
    let collectors = (0..<3).map { _ in Recorder<Int>() }
    let subscriptions = collectors.map { collector in
      store.subscribe(
        with: QueryEventHandler(onStateChanged: { state, _ in
          collector.append(state.valueUpdateCount)
        })
      )
    }
    await runOnThreads(4) { thread in
      for round in 0..<500 { store.currentValue = thread * 500 + round }
    }
    // A thread may have left its last event to another one, or to a task.
    for collector in collectors {
      await collector.wait(forCount: 2_001)
      #expect(collector.elements == Array(0...2_000))
    }
    withExtendedLifetime(subscriptions) {}
  }

  @Test func noChangeIsLostOrDoubledBetweenSubscribingAndTheFirstCall() async {
    let store = ScriptedQuery.store()
    await runOnThreads(4) { thread in
      for round in 0..<300 {
        guard thread < 2 else {
          store.currentValue = round
          continue
        }
        let counts = Recorder<Int>()
        let subscription = store.subscribe(
          with: QueryEventHandler(onStateChanged: { state, _ in
            counts.append(state.valueUpdateCount)
          })
        )
        store.currentValue = round
        subscription.cancel()
        let seen = counts.elements
        #expect(seen.count >= 1)
        #expect(seen == Array((seen.first ?? 0)..<(seen.first ?? 0) + seen.count))
      }
    }
  }

  @Test func aHandlerIsNeverCalledTwiceAtATime() async {
    let store = ScriptedQuery.store()
    let isInside = Box(false)
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { _, _ in
        #expect(!isInside.value)
        isInside.value = true
        for _ in 0..<5 { _ = store.subscriberCount }
        isInside.value = false
      })
    )
    await runOnThreads(4) { _ in for _ in 0..<300 { store.currentValue = 1 } }
    subscription.cancel()
  }

  @Test func fetchReturnsAfterAnotherThreadThatIsSlowInItsHandler() async throws {
    let collector = EventCollector<IntState>()
    let isBusy = Recorder<Bool>()
    let mayGoOn = DispatchSemaphore(value: 0)
    let ended = Counter()
    var handler = collector.handler
    let forward = handler.onStateChanged
    handler.onStateChanged = { state, context in
      forward?(state, context)
      guard state.currentValue == 50 else { return }
      isBusy.append(true)
      mayGoOn.wait()
      ended.increment()
    }
    let gate = Gate()
    let store = ScriptedQuery.store { _, _ in
      try await gate.pass()
      return 1
    }
    let fetch = Task { [handler] in
      try await store.fetch(handler: handler)
      return ended.value
    }
    await gate.arrival()
    let thread = Thread { store.currentValue = 50 }
    thread.start()
    await isBusy.wait(forCount: 1)
    gate.open()
    // The result is in the state, the thread still in the handler.
    while store.valueUpdateCount < 2 { await Task.yield() }
    #expect(!collector.events.contains(.fetchingEnded))
    mayGoOn.signal()
    #expect(try await fetch.value == 1)
    #expect(
      collector.events == [
        .stateChanged, .fetchingStarted, .stateChanged, .returned("1"), .stateChanged,
        .fetchingEnded,
      ]
    )
  }

  @Test func aHandlerOfAFetchSeesAWholeFetchWhateverOtherThreadsDo() async throws {
    let store = ScriptedQuery.store()
    let isOver = Box(false)
    let thread = Thread {
      while !isOver.value { store.currentValue = 7 }
    }
    thread.start()
    for _ in 0..<300 {
      let collector = EventCollector<IntState>()
      try await store.fetch(handler: collector.handler)
      let count = collector.events.count
      let others = collector.events.filter { $0 != .stateChanged }
      #expect(others == [.fetchingStarted, .returned("1"), .fetchingEnded])
      let counts = collector.states.map(\.valueUpdateCount)
      #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 <= $1 })
      #expect(collector.events.count == count)
    }
    isOver.value = true
  }

  @Test func anEventIsTheStateAtItsChangeAndNotALaterOne() {
    let store = ScriptedQuery.store()
    let values = Recorder<Int?>()
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        if state.currentValue == 1 {
          for value in 2...100 { store.currentValue = value }
        }
        values.append(state.currentValue)
      })
    )
    store.currentValue = 1
    #expect(values.elements == [nil] + Array(1...100))
    withExtendedLifetime(subscription) {}
  }

  @Test func manyEventsThatWaitForASlowHandlerAreAllDeliveredAndReleased() async {
    let store = QueryStore.detached(
      query: ScriptedQuery<Tracked?> { _, _ in nil },
      initialValue: nil
    )
    let released = Counter()
    let isBusy = Recorder<Bool>()
    let mayGoOn = DispatchSemaphore(value: 0)
    let calls = Counter()
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { _, _ in
        guard calls.increment() == 2 else { return }
        isBusy.append(true)
        mayGoOn.wait()
      })
    )
    let thread = Thread { store.currentValue = .some(nil) }
    thread.start()
    await isBusy.wait(forCount: 1)
    for _ in 0..<100_000 { store.currentValue = Tracked { released.increment() } }
    #expect(calls.value == 2)
    // Leaves the log to its last holder, whose release must not recurse.
    subscription.cancel()
    mayGoOn.signal()
    store.currentValue = .some(nil)
    while released.value < 100_000 { await Task.yield() }
    #expect(calls.value == 2)
  }
}
