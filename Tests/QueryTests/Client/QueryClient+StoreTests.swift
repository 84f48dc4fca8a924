import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryClientStoreTests {
  private let client = QueryClient.quiet()

  // MARK: - Hits and misses

  @Test func aMissMakesAStoreAndAHitReturnsIt() {
    let store = self.client.store(for: ProbeQuery(), initialValue: 3)
    #expect(store.currentValue == 3)
    #expect(self.client.store(for: ProbeQuery(), initialValue: 9) === store)
    #expect(store.currentValue == 3)
    #expect(self.client.store(for: ProbeQuery(path: ["other"])) !== store)
  }

  @Test func everyKindOfRequestHasItsOwnStart() {
    #expect(self.client.store(for: ProbeQuery()).currentValue == nil)
    #expect(self.client.store(for: ProbeTextQuery().defaultValue("d")).currentValue == "d")
    let page = InfiniteQueryPage(id: 4, value: "four")
    #expect(self.client.store(for: ProbePages(), initialValue: [page]).currentValue == [page])
    let defaultPages = ProbePages(path: ["default pages"]).defaultValue([page])
    #expect(self.client.store(for: defaultPages).currentValue == [page])
    #expect(self.client.store(for: ProbeMutation(), initialValue: 8).currentValue == 8)
    let state = QueryState<Int?, Int>(initialValue: 5)
    let store = self.client.store(for: ProbeQuery(path: ["state"]), initialState: state)
    #expect(store.currentValue == 5)
  }

  @Test func theInitialValueOfAHitIsNotEvenMade() {
    let made = Counter()
    let query = ProbeQuery().defaultValue(made.increment())
    let store = self.client.store(for: query)
    #expect(self.client.store(for: query) === store)
    #expect(made.value == 1)
  }

  // MARK: - Duplicate paths

  @Test func anotherTypeAtThePathGetsAStoreThatIsNotKept() async {
    let store = self.client.store(for: ProbeQuery(), initialValue: 1)
    let warning = QueryWarning.duplicatePath(
      expectedType: ProbeQuery.self,
      foundType: OtherProbeQuery.self
    )
    let other = await withExpectedWarnings([warning]) {
      self.client.store(for: OtherProbeQuery(), initialValue: 2)
    }
    #expect(other !== store)
    #expect(other.currentValue == 2)
    #expect(other.context.queryClient === self.client)
    let again = await withExpectedWarnings([warning]) { self.client.store(for: OtherProbeQuery()) }
    #expect(again !== other)
    #expect(self.client.store(for: ProbeQuery()) === store, "the recorded type stays the first")
    #expect(self.client.stores(matching: []).count == 1)
  }

  @Test func aQueryAndItsModifiedOrDefaultFormAreTwoTypes() async {
    _ = self.client.store(for: ProbeQuery())
    await withExpectedWarnings([
      .duplicatePath(
        expectedType: ProbeQuery.self,
        foundType: DefaultQuery<ProbeQuery>.self
      )
    ]) {
      #expect(self.client.store(for: ProbeQuery().defaultValue(4)).currentValue == 4)
    }
  }

  @Test func aStorePutIntoTheCacheByHandIsReturnedWhereItsStateFits() async {
    let store = QueryStore.detached(query: ProbeQuery(), initialValue: 6)
    self.client.withStores { stores, _ in stores.update(OpaqueQueryStore(erasing: store)) }
    #expect(self.client.store(for: ProbeQuery()) === store)
    #expect(self.client.store(for: OtherProbeQuery()) === store)
    let warning = QueryWarning.duplicatePath(
      expectedType: type(of: store),
      foundType: ProbeTextQuery.self
    )
    await withExpectedWarnings([warning]) {
      #expect(self.client.store(for: ProbeTextQuery(path: ["probe"])).currentValue == nil)
    }
    #expect(self.client.store(for: ProbeQuery()) === store)
  }

  @Test func ofAClearedPathAnotherTypeMayBecomeTheFirst() {
    _ = self.client.store(for: ProbeQuery())
    self.client.clearStores()
    let other = self.client.store(for: OtherProbeQuery())
    #expect(self.client.store(for: OtherProbeQuery()) === other)
  }

  // MARK: - Two at once

  @Test func ofTwoFirstCallsOneStoreWinsAndTheOthersControllersEnd() async {
    let meeting = Meeting(of: 2)
    let ended = Counter()
    let started = Counter()
    let kept = Locked([QueryStore<QueryState<Int?, Int>>?]())
    let query = ProbeQuery(onSetup: { _ in meeting.meet() }).controlled(
      by: ProbeController<QueryState<Int?, Int>> { controls in
        started.increment()
        // A task of a controller's own may keep its store.
        controls.withExclusiveAccess { _ in }
        return QuerySubscription { ended.increment() }
      }
    )
    let client = self.client
    await runOnThreads(2) { _ in
      let store = client.store(for: query)
      kept.withLock { $0.append(store) }
    }
    let stores = kept.withLock { $0 }
    #expect(stores.count == 2)
    #expect(stores[0] === stores[1])
    #expect(client.store(for: query) === stores[0])
    #expect(started.value == 2)
    #expect(ended.value == 1)
  }

  @Test func theControllersOfTheLoserEndThoughItsStoreIsKept() async {
    let meeting = Meeting(of: 2)
    let ended = Counter()
    let gate = Gate()
    let tasks = Recorder<QueryTask<Int>?>()
    let query = ProbeQuery(onFetch: { _, _ in
      await gate.passIgnoringCancellation()
      return 1
    })
    .controlled(
      by: ProbeController<QueryState<Int?, Int>> { controls in
        // The un-run task keeps the store.
        tasks.append(controls.yieldRefetchTask())
        meeting.meet()
        return QuerySubscription { ended.increment() }
      }
    )
    let client = self.client
    await runOnThreads(2) { _ in _ = client.store(for: query) }
    #expect(tasks.elements.compactMap { $0 }.count == 2)
    #expect(ended.value == 1)
    gate.open()
  }

  @Test func manyThreadsGetOneStore() async {
    let client = self.client
    let stores = Locked(Set<ObjectIdentifier>())
    await runOnThreads(4) { _ in
      for index in 0..<200 {
        let store = client.store(for: ProbeQuery(path: [index]))
        _ = stores.withLock { $0.insert(ObjectIdentifier(store)) }
      }
    }
    #expect(stores.withLock { $0.count } == 200)
    #expect(client.stores(matching: []).count == 200)
  }
}

/// Lets threads through when all have come.
private final class Meeting: Sendable {
  private let condition = NSCondition()
  private let remaining: Locked<Int>

  init(of count: Int) { self.remaining = Locked(count) }

  func meet() {
    self.condition.lock()
    self.remaining.withLock { $0 -= 1 }
    self.condition.broadcast()
    while self.remaining.withLock({ $0 > 0 }) { self.condition.wait() }
    self.condition.unlock()
  }
}
