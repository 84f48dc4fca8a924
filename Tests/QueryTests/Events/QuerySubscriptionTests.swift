import Query
import TestSupport
import Testing

@Suite struct QuerySubscriptionTests {
  @Test func theClosureRunsOnceHoweverOftenItIsCancelled() async {
    let counter = Counter()
    let subscription = QuerySubscription { counter.increment() }
    await runOnThreads(4) { _ in subscription.cancel() }
    subscription.cancel()
    #expect(counter.value == 1)
  }

  @Test func theLastCopyCancels() {
    let counter = Counter()
    var copies = [QuerySubscription { counter.increment() }]
    copies.append(copies[0])
    copies.removeLast()
    #expect(counter.value == 0)
    copies.removeLast()
    #expect(counter.value == 1)
  }

  @Test func theClosureMayCancelAgain() {
    let counter = Counter()
    let subscription = Box(QuerySubscription.empty)
    subscription.value = QuerySubscription {
      counter.increment()
      subscription.value.cancel()
    }
    subscription.value.cancel()
    #expect(counter.value == 1)
    subscription.value = .empty
  }

  @Test func theClosureIsReleasedByCancel() {
    var tracked: Tracked? = Tracked()
    weak let released = tracked
    let subscription = QuerySubscription { [tracked] in withExtendedLifetime(tracked) {} }
    tracked = nil
    #expect(released != nil)
    subscription.cancel()
    #expect(released == nil)
  }

  @Test func aCombinedOneCancelsAllInOrder() {
    let log = Recorder<Int>()
    let parts = (0..<3).map { index in QuerySubscription { log.append(index) } }
    let combined = QuerySubscription.combined(parts[0], .combined([parts[1], parts[2]]), .empty)
    combined.cancel()
    combined.cancel()
    #expect(log.elements == [0, 1, 2])
  }

  @Test func aCombinedOneCancelsWhenItIsReleased() {
    let counter = Counter()
    var combined: QuerySubscription? = .combined(QuerySubscription { counter.increment() }, .empty)
    #expect(combined != nil && counter.value == 0)
    combined = nil
    #expect(counter.value == 1)
  }

  @Test func equalityIsByIdentityAndByElement() {
    let first = QuerySubscription {}
    let second = QuerySubscription {}
    let copy = first
    #expect(QuerySubscription.empty == .empty)
    #expect(first == copy)
    #expect(first != second)
    #expect(first != .empty)
    #expect(QuerySubscription.combined([]) == .combined([]))
    #expect(QuerySubscription.combined([]) != .combined([.empty]))
    #expect(QuerySubscription.combined(first) != first)
    #expect(QuerySubscription.combined(first, second) == .combined([first, second]))
    #expect(QuerySubscription.combined(first, second) != .combined(second, first))
    let distinct: Set<QuerySubscription> = [
      .empty, .empty, first, copy, second, .combined(first), .combined([first]), .combined([]),
      .combined(first, second), .combined(second, first),
    ]
    #expect(distinct.count == 7)
  }

  @Test func subscriptionsAreKeptInSetsAndCollections() {
    let counter = Counter()
    var set = Set<QuerySubscription>()
    var array = [QuerySubscription]()
    QuerySubscription { counter.increment() }.store(in: &set)
    QuerySubscription { counter.increment() }.store(in: &array)
    #expect(counter.value == 0)
    #expect(set.count == 1 && array.count == 1)
    set = []
    array = []
    #expect(counter.value == 2)
  }
}
