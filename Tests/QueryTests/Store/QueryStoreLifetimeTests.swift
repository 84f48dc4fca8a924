import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStoreLifetimeTests {
  @Test func aStoreIsReleasedWithItsLastOwnerAfterAllItDid() async throws {
    let collector = EventCollector<IntState>()
    var store: IntStore? = ScriptedQuery.store { _, continuation in
      continuation.yield(3)
      return 1
    }
    weak let released = store
    try await store?.fetch(handler: collector.handler)
    store?.fetchTask()
    store?.fetchTask().cancel()
    store?.currentValue = 2
    store?.reset()
    let subscription = store?.subscribe(with: collector.handler)
    let task = store?.fetchTask()
    try await task?.runIfNeeded()
    store?.withExclusiveAccess { _ = $0.fetchTask() }
    _ = store?.state
    store = nil
    // The contexts of all events are still there, and so are the subscription and the task.
    #expect(released == nil)
    #expect(collector.entries.elements.allSatisfy { $0.context.currentFetchingQueryStore == nil })
    withExtendedLifetime((subscription, task)) {}
  }

  @Test func aStoreKeepsTheValueThatItShowsAndNoOther() async throws {
    let (made, released) = (Counter(), Counter())
    let condition = ManualCondition(false)
    let query = ScriptedQuery<Tracked> { _, _ in
      made.increment()
      return Tracked { released.increment() }
    }
    .enableAutomaticFetching(onlyWhen: .always(true)).refetchOnChange(of: condition)
    .deduplicated()
    let store = QueryStore<QueryState<Tracked?, Tracked>>
      .detached(query: query, initialValue: nil)
    let contexts = Recorder<QueryContext>()
    let subscription = store.subscribe(
      with: QueryEventHandler(onFetchingEnded: { contexts.append($0) }))
    await contexts.wait(forCount: 1)
    condition.send(true)
    await contexts.wait(forCount: 2)
    try await store.fetch()
    // A task's last step is after the event.
    while released.value < 2 { await Task.yield() }
    #expect(made.value == 3)
    store.currentValue = nil
    while released.value < 3 { await Task.yield() }
    withExtendedLifetime((subscription, contexts)) {}
  }

  @Test func aRunningTaskKeepsTheStore() async throws {
    let gate = Gate()
    var store: IntStore? = ScriptedQuery.store { _, _ in
      try await gate.pass()
      return 1
    }
    weak let released = store
    let task = store?.fetchTask()
    let run = Task { try await task?.runIfNeeded() }
    await gate.arrival()
    store = nil
    #expect(released != nil)
    gate.open()
    #expect(try await run.value == 1)
    #expect(released == nil)
  }

  @Test func anUnrunTaskThatSomebodyHoldsKeepsTheStoreAndRuns() async throws {
    var store: IntStore? = ScriptedQuery.store()
    weak let released = store
    var task = store?.fetchTask()
    store = nil
    #expect(released != nil)
    #expect(try await task?.runIfNeeded() == 1)
    #expect(released == nil)
    task = nil
  }

  @Test func anUnrunTaskThatNobodyHoldsDoesNotKeepTheStore() {
    var store: IntStore? = ScriptedQuery.store()
    weak let released = store
    var task = store?.fetchTask()
    store = nil
    #expect(released != nil && task != nil)
    task = nil
    #expect(released == nil)
  }

  @Test func aCancelledTaskDoesNotKeepTheStore() {
    var store: IntStore? = ScriptedQuery.store()
    weak let released = store
    let task = store?.fetchTask()
    task?.cancel()
    store = nil
    #expect(released == nil)
    #expect(task?.isCancelled == true)
  }

  @Test func aTaskThatIsCancelledWhileItWaitsDoesNotKeepTheStore() async {
    let gate = Gate()
    let first = ScriptedQuery.store { _, _ in
      await gate.passIgnoringCancellation()
      return 1
    }
    var store: IntStore? = ScriptedQuery.store()
    weak let released = store
    let dependency = first.fetchTask()
    let task = store?.fetchTask()
    task?.schedule(after: dependency)
    let run = Task { try await task?.runIfNeeded() }
    await gate.arrival()
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    store = nil
    #expect(released == nil)
    gate.open()
    _ = try? await dependency.runIfNeeded()
  }

  @Test func aContinuationThatIsKeptDoesNotKeepTheStore() async throws {
    let continuation = Box<QueryContinuation<Int>?>(nil)
    var store: IntStore? = ScriptedQuery.store {
      continuation.value = $1
      return 1
    }
    weak let released = store
    try await store?.fetch()
    store = nil
    #expect(released == nil)
    #expect(continuation.value != nil)
  }

  @Test func aStoreEndsItsControllersWithIt() {
    let ended = Counter()
    let controller = EndingController(ended: ended)
    var store: IntStore? = .detached(
      query: ScriptedQuery { _, _ in 1 }.controlled(by: controller),
      initialValue: nil
    )
    #expect(store != nil && ended.value == 0)
    store = nil
    #expect(ended.value == 1)
  }

  @Test func aTaskLetsGoOfItsWorkAndOfItsHandlesWhenItEnds() async throws {
    var tracked: Tracked? = Tracked()
    weak let released = tracked
    let task = QueryTask(context: QueryContext()) { [tracked] _, _ in
      withExtendedLifetime(tracked) {}
      return 1
    }
    tracked = nil
    #expect(released != nil)
    try await task.runIfNeeded()
    #expect(released == nil)
  }

  @Test func aTaskThatIsCancelledUnrunLetsGoOfItsWork() {
    var tracked: Tracked? = Tracked()
    weak let released = tracked
    let task = QueryTask(context: QueryContext()) { [tracked] _, _ in
      withExtendedLifetime(tracked) {}
      return 1
    }
    tracked = nil
    task.cancel()
    #expect(released == nil)
  }

  @Test func theValuesThatWereReplacedAreReleased() {
    let released = Counter()
    let store = QueryStore.detached(
      query: ScriptedQuery<Tracked> { _, _ in Tracked() },
      initialValue: nil
    )
    let subscription = store.subscribe(with: QueryEventHandler(onStateChanged: { _, _ in }))
    for _ in 0..<10 { store.currentValue = Tracked { released.increment() } }
    #expect(released.value == 9)
    store.reset()
    #expect(released.value == 10)
    withExtendedLifetime(subscription) {}
  }

  // In a process of its own, whose memory no other test takes.
  @Test(.enabled(if: !Sanitizer.isAddress, Comment(rawValue: Sanitizer.addressReason)))
  func manyFetchesDoNotGrowMemory() async {
    await #expect(processExitsWith: .success) {
      let live = LiveCount()
      let store = QueryStore.detached(
        query: ScriptedQuery<Int> { _, continuation in
          let tracked = live.make()
          continuation.yield(1)
          withExtendedLifetime(tracked) {}
          return 1
        },
        initialValue: nil
      )
      let subscription = store.subscribe(with: QueryEventHandler(onStateChanged: { _, _ in }))
      func fetch(_ count: Int) async throws {
        for round in 0..<count {
          var context = QueryContext()
          context[LiveKey.self] = live.make()
          try await store.fetch(
            using: context, handler: QueryEventHandler(onFetchingEnded: { _ in }))
          if round % 4 == 0 { store.fetchTask(using: context) }
          if round % 4 == 1 { store.fetchTask(using: context).cancel() }
        }
      }
      // What the allocator and the runtime keep for good is there after a while.
      try await fetch(5_000)
      #expect(live.count == 0)
      let before = Self.residentKilobytes
      try await fetch(10_000)
      #expect(live.count == 0)
      // A kilobyte for each fetch would be 10 MB.
      #expect(Self.residentKilobytes - before < 5_000)
      withExtendedLifetime(subscription) {}
    }
  }

  private static var residentKilobytes: Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE))) / 1_024
  }
}

private enum LiveKey: QueryContext.Key {
  static var defaultValue: Tracked? { nil }
}

/// Counts objects that are alive.
private final class LiveCount: Sendable {
  private let made = Counter()
  private let released = Counter()

  var count: Int { self.made.value - self.released.value }

  func make() -> Tracked {
    self.made.increment()
    return Tracked { [released] in released.increment() }
  }
}

private struct EndingController: QueryController {
  let ended: Counter

  func control(with controls: QueryControls<IntState>) -> QuerySubscription {
    QuerySubscription { self.ended.increment() }
  }
}
