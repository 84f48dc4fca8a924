import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStoreStatesTests {
  @Test func everyStateIsDeliveredFromTheOneAtHandOn() async {
    let store = ScriptedQuery.store()
    store.currentValue = 0
    let iterator = store.states.makeAsyncIterator()
    for value in 1...100 { store.currentValue = value }
    store.setResult(to: .failure(TestError()), using: QueryContext(mark: "error"))
    var values = [Int?]()
    var states = iterator
    while values.count < 101, let element = await states.next() {
      values.append(element.state.currentValue)
    }
    #expect(values == Array(0...100))
    let last = await states.next()
    #expect(last?.context.mark == "error")
    #expect(last?.state.error as? TestError == TestError())
  }

  @Test func anIteratorIsASubscriptionFromItsCreationOn() async {
    let store = ScriptedQuery.store()
    let states = store.states
    #expect(store.subscriberCount == 0)
    var iterators = [states.makeAsyncIterator(), states.makeAsyncIterator()]
    #expect(store.subscriberCount == 2)
    iterators.removeLast()
    #expect(store.subscriberCount == 1)
    iterators.removeAll()
    #expect(store.subscriberCount == 0)
  }

  @Test func theFirstIteratorStartsTheAutomaticFetch() async {
    var context = QueryContext()
    context.enableAutomaticFetchingCondition = .always(true)
    let store = ScriptedQuery.store(in: context) { _, _ in 1 }
    var loading = [Bool]()
    for await element in store.states {
      loading.append(element.state.isLoading)
      if element.state.currentValue == 1 { break }
    }
    #expect(loading == [false, true, false])
    #expect(store.subscriberCount == 0)
  }

  @Test func leavingTheLoopEndsTheSubscription() async {
    let store = ScriptedQuery.store()
    for await _ in store.states { break }
    #expect(store.subscriberCount == 0)
  }

  @Test func cancellingTheTaskEndsTheSequenceAndTheSubscription() async {
    let store = ScriptedQuery.store()
    let counter = Recorder<Int?>()
    let task = Task {
      for await element in store.states { counter.append(element.state.currentValue) }
    }
    await counter.wait(forCount: 1)
    task.cancel()
    await task.value
    #expect(store.subscriberCount == 0)
  }

  @Test func aBufferingPolicyChoosesWhichStatesWait() async {
    let store = ScriptedQuery.store()
    var newest = store.states(bufferingPolicy: .bufferingNewest(1)).makeAsyncIterator()
    var oldest = store.states(bufferingPolicy: .bufferingOldest(2)).makeAsyncIterator()
    for value in 1...5 { store.currentValue = value }
    #expect(await newest.next()?.state.currentValue == 5)
    #expect(await oldest.next()?.state.currentValue == .some(nil))
    #expect(await oldest.next()?.state.currentValue == 1)
    store.currentValue = 6
    #expect(await newest.next()?.state.currentValue == 6)
    #expect(await oldest.next()?.state.currentValue == 6)
  }

  @Test func anIteratorKeepsTheStore() async {
    var store: IntStore? = ScriptedQuery.store()
    weak let released = store
    var iterator = store?.states.makeAsyncIterator()
    store = nil
    #expect(released != nil)
    _ = await iterator?.next()
    iterator = nil
    #expect(released == nil)
  }
}
