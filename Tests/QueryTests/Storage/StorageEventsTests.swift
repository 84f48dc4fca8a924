import Query
import TestSupport
import Testing

@Suite struct StorageEventsTests {
  @Test func eachListenerGetsEveryEventFromItsBeginningOn() async {
    let hub = StorageEventHub()
    var early = hub.makeEvents().makeAsyncIterator()
    hub.send(.committed(entries: 1))
    var late = hub.makeEvents().makeAsyncIterator()
    hub.send(.committed(entries: 2))
    #expect(await early.next() == .committed(entries: 1))
    #expect(await early.next() == .committed(entries: 2))
    #expect(await late.next() == .committed(entries: 2))
  }

  @Test func theNewest256AreKeptForWhoeverIsSlow() async {
    let hub = StorageEventHub()
    var events = hub.makeEvents().makeAsyncIterator()
    for number in 0..<1_000 { hub.send(.committed(entries: number)) }
    for number in 744..<1_000 { #expect(await events.next() == .committed(entries: number)) }
    hub.send(.recovered)
    #expect(await events.next() == .recovered)
  }

  @Test func aStreamMayBeginWithAnEvent() async {
    let hub = StorageEventHub()
    var events = hub.makeEvents(startingWith: .recovered).makeAsyncIterator()
    var others = hub.makeEvents().makeAsyncIterator()
    hub.send(.evicted(entries: 3))
    #expect(await events.next() == .recovered)
    #expect(await events.next() == .evicted(entries: 3))
    #expect(await others.next() == .evicted(entries: 3))
  }

  @Test func streamsEndWithTheStorage() async {
    var hub: StorageEventHub? = StorageEventHub()
    var events = hub?.makeEvents().makeAsyncIterator()
    hub?.send(.recovered)
    hub = nil
    #expect(await events?.next() == .recovered)
    #expect(await events?.next() == StorageEvent?.none)
  }

  @Test func whoeverLeavesIsForgotten() async {
    let hub = StorageEventHub()
    #expect(!hub.hasListeners)
    let task = Task {
      for await _ in hub.makeEvents() { break }
    }
    // Sent again and again, since the task may not listen yet.
    while !hub.hasListeners { await Task.yield() }
    hub.send(.recovered)
    await task.value
    #expect(!hub.hasListeners)
    hub.send(.recovered)
  }

  @Test func aTaskThatIsCancelledLeaves() async {
    let hub = StorageEventHub()
    let task = Task {
      for await _ in hub.makeEvents() {}
    }
    while !hub.hasListeners { await Task.yield() }
    task.cancel()
    await task.value
    #expect(!hub.hasListeners)
  }

  @Test func listenersComeAndGoOnManyThreads() async {
    let hub = StorageEventHub()
    await runOnThreads(8) { thread in
      for round in 0..<200 {
        if thread < 4 {
          hub.send(.committed(entries: round))
        } else {
          _ = hub.makeEvents()
        }
      }
    }
    #expect(!hub.hasListeners)
  }
}
