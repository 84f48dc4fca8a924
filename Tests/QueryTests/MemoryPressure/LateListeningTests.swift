import TestSupport
import Testing

@testable import Query

/// A cache takes the kernel's trigger only when it can be of use.
@Suite(.warningsAreIssues) struct LateListeningTests {
  /// A cache whose program is as old as the test says, and that waits only if the test lets it.
  private final class Scratch: Sendable {
    let age = Locked(Duration.zero)
    let source = ManualPressure()
    let waits = Recorder<@Sendable () -> Void>()

    var surroundings: LateListening.Surroundings {
      LateListening.Surroundings(
        age: { self.age.withLock { $0 } }, spawn: { self.waits.append($0) })
    }

    func client() -> QueryClient {
      QueryClient(
        storeCache: QueryClient.DefaultStoreCache(lateSource: self.source, self.surroundings))
    }

    func listening(hasDroppable: @escaping @Sendable () -> Bool) -> LateListening {
      LateListening(
        self.surroundings, hasDroppable: hasDroppable,
        subscribe: { self.source.subscribe { _ in } })
    }
  }

  @Test func aClientWithoutStoresNeitherListensNorWaits() {
    let scratch = Scratch()
    let client = scratch.client()
    #expect(scratch.source.handlerCount == 0)
    #expect(scratch.waits.count == 0)
    _ = client
  }

  @Test func aYoungProgramWithFewStoresDoesNotListen() {
    let scratch = Scratch()
    let client = scratch.client()
    for number in 1...1_000 { _ = client.store(for: ProbeQuery(path: ["probe", number])) }
    #expect(scratch.source.handlerCount == 0)
    #expect(scratch.waits.count == 1)
  }

  @Test func manyStoresListenAtOnce() {
    let scratch = Scratch()
    let client = scratch.client()
    for number in 1...1_001 { _ = client.store(for: ProbeQuery(path: ["probe", number])) }
    #expect(scratch.source.handlerCount == 1)
    for number in 1_002...1_100 { _ = client.store(for: ProbeQuery(path: ["probe", number])) }
    #expect(scratch.source.handlerCount == 1)
    scratch.source.send(.warning)
    #expect(client.stores(matching: []).isEmpty)
  }

  /// The kernel would take and give back a trigger for each of them.
  @Test func onceItListensMoreStoresSubscribeToNothing() {
    let scratch = Scratch()
    let subscriptions = Counter()
    let listening = LateListening(
      scratch.surroundings, hasDroppable: { true },
      subscribe: {
        subscriptions.increment()
        return scratch.source.subscribe { _ in }
      })
    for count in 1...1_100 { listening.noteStores(count) }
    #expect(listening.isListening)
    #expect(subscriptions.value == 1)
  }

  @Test func storesThatAreAddedTogetherCountToo() {
    let scratch = Scratch()
    let client = scratch.client()
    client.withStores { stores, create in
      for number in 1...1_001 {
        stores.update(
          OpaqueQueryStore(erasing: create(for: ProbeQuery(path: ["probe", number]))))
      }
    }
    #expect(scratch.source.handlerCount == 1)
  }

  @Test func anOldProgramListensIfAStoreCouldBeDropped() {
    let scratch = Scratch()
    let hasDroppable = Locked(false)
    let listening = scratch.listening { hasDroppable.withLock { $0 } }
    #expect(listening.timeToWait() == .seconds(60))
    scratch.age.withLock { $0 = .seconds(45) }
    #expect(listening.timeToWait() == .seconds(15))
    scratch.age.withLock { $0 = .seconds(60) }
    #expect(listening.timeToWait() == .seconds(60))
    #expect(scratch.source.handlerCount == 0)
    hasDroppable.withLock { $0 = true }
    #expect(listening.timeToWait() == nil)
    #expect(scratch.source.handlerCount == 1)
    #expect(listening.timeToWait() == nil)
    #expect(scratch.source.handlerCount == 1)
  }

  @Test func aStoreWithASubscriberIsNotOneToDrop() {
    let cache = QueryClient.DefaultStoreCache(memoryPressureSource: nil)
    let client = QueryClient(storeCache: cache)
    #expect(!cache.hasDroppable)
    let subscription = client.store(for: ProbeQuery()).subscribe(with: QueryEventHandler())
    _ = client.store(for: ProbeQuery(path: ["kept"]).evictWhen(pressure: []))
    #expect(!cache.hasDroppable)
    subscription.cancel()
    #expect(cache.hasDroppable)
  }

  @Test func theWaitEndsWithItsCache() async {
    let scratch = Scratch()
    var client: QueryClient? = scratch.client()
    _ = client?.store(for: ProbeQuery())
    let wait = scratch.waits.elements[0]
    let isOver = AsyncSignal()
    startThread("test") {
      wait()
      isOver.wake()
    }
    client = nil
    await isOver.wait()
    #expect(scratch.source.handlerCount == 0)
  }
}
