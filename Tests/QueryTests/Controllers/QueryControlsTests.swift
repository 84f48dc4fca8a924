import Foundation
import Query
import TestSupport
import Testing

private typealias Numbers = QueryState<Int?, Int>

@Suite(.warningsAreIssues) struct QueryControlsTests {
  private let controls = Recorder<QueryControls<Numbers>>()

  private func store(
    enabled: Bool = true,
    initialValue: Int? = nil,
    onFetch: @escaping ProbeQuery.Fetch = { _, _ in 1 }
  ) -> QueryStore<Numbers> {
    let query = ProbeQuery(onFetch: onFetch)
      .controlled(
        by: ProbeController { [controls] in
          controls.append($0)
          return .empty
        }
      )
      .staleWhenNoValue().disableAutomaticFetching(!enabled)
    return .detached(query: query, initialValue: initialValue)
  }

  private var last: QueryControls<Numbers> { self.controls.elements[0] }

  // MARK: - Reading

  @Test func controlsShowTheStoreAsItIs() {
    let store = self.store()
    #expect(self.last.isStale)
    #expect(self.last.canYieldRefetch)
    #expect(self.last.subscriberCount == 0)
    store.currentValue = 3
    store.context.maxRetries = 8
    let subscription = store.subscribe(with: QueryEventHandler())
    #expect(self.last.state.currentValue == 3)
    #expect(self.last.context.maxRetries == 8)
    #expect(!self.last.isStale)
    #expect(self.last.subscriberCount == 1)
    subscription.cancel()
    store.context.enableAutomaticFetchingCondition = .always(false)
    #expect(!self.last.canYieldRefetch)
  }

  @Test func thePathIsTheStoresAlsoOnceThatIsGone() {
    var store: QueryStore<Numbers>? = self.store()
    #expect(self.last.path == ["probe"])
    #expect(self.last.path == store?.path)
    store = nil
    #expect(self.last.path == ["probe"])
  }

  // MARK: - Yielding

  @Test func yieldsAreUpdatesByHand() {
    let store = self.store()
    let collector = EventCollector<Numbers>()
    store.currentValue = 0
    let subscription = store.subscribe(with: collector.handler)
    self.last.yield(4)
    #expect(store.currentValue == 4)
    self.last.yield(throwing: TestError())
    #expect(store.error as? TestError == TestError())
    self.last.yield(with: .success(5))
    #expect(store.currentValue == 5)
    self.last.yield(with: .failure(TestError("other")))
    #expect(store.valueUpdateCount == 3)
    #expect(store.errorUpdateCount == 2)
    #expect(collector.events == Array(repeating: .stateChanged, count: 5))
    subscription.cancel()
  }

  @Test func theContextOfAYieldSuppliesTheClock() {
    let store = self.store()
    var context = QueryContext()
    context.queryClock = .timeFreeze(Date(timeIntervalSince1970: 7))
    self.last.yield(1, using: context)
    #expect(store.valueLastUpdatedAt == Date(timeIntervalSince1970: 7))
    self.last.yield(throwing: TestError(), using: context)
    #expect(store.errorLastUpdatedAt == Date(timeIntervalSince1970: 7))
  }

  @Test func aYieldedResetResets() {
    let store = self.store(initialValue: 2)
    store.currentValue = 9
    self.last.yieldReset()
    #expect(store.currentValue == 2)
    #expect(store.valueUpdateCount == 0)
  }

  @Test func aYieldedRefetchFetches() async throws {
    let names = Recorder<String?>()
    let store = self.store(onFetch: { context, _ in
      names.append(context.queryTaskConfiguration.name)
      return 6
    })
    #expect(try await self.last.yieldRefetch() == 6)
    #expect(store.currentValue == 6)
    let configuration = QueryTaskConfiguration(name: "laid over")
    #expect(try await self.last.yieldRefetch(with: configuration) == 6)
    #expect(try await self.last.yieldRefetch(with: configuration.context) == 6)
    #expect(names.elements.suffix(2) == ["laid over", "laid over"])
  }

  @Test func aYieldedTaskIsScheduledAndNotStarted() async throws {
    let store = self.store()
    let task = try #require(self.last.yieldRefetchTask())
    #expect(store.isLoading)
    #expect(!task.hasStarted)
    #expect(try await task.runIfNeeded() == 1)
    var dropped = self.last.yieldRefetchTask(with: QueryContext())
    #expect(dropped != nil)
    #expect(store.isLoading)
    dropped = nil
    #expect(!store.isLoading)
  }

  @Test func aStoreThatDoesNotFetchByItselfIsNotRefetched() async throws {
    let store = self.store(enabled: false)
    #expect(self.last.yieldRefetchTask() == nil)
    #expect(try await self.last.yieldRefetch() == nil)
    #expect(store.valueUpdateCount == 0)
  }

  @Test func aRefetchThrowsWhatTheRequestThrows() async {
    let store = self.store(onFetch: { _, _ in throw TestError() })
    await #expect(throws: TestError()) { try await self.last.yieldRefetch() }
    #expect(store.errorUpdateCount == 1)
  }

  @Test func exclusiveAccessPutsEventsOff() {
    let store = self.store(initialValue: 1)
    let collector = EventCollector<Numbers>()
    let subscription = store.subscribe(with: collector.handler)
    let value = self.last.withExclusiveAccess { controls in
      controls.yield(2)
      controls.yield(3)
      #expect(collector.events.count == 1)
      return controls.state.currentValue
    }
    #expect(value == 3)
    #expect(collector.states.map(\.currentValue) == [1, 2, 3])
    #expect(throws: TestError()) { try self.last.withExclusiveAccess { _ in throw TestError() } }
    subscription.cancel()
  }

  // MARK: - After the store

  @Test func controlsDoNotKeepTheStore() {
    weak let store = self.store()
    #expect(store == nil)
    #expect(self.controls.count == 1)
  }

  @Test func eachUseAfterTheStoreIsGoneIsWarnedOf() async throws {
    weak let released = self.store(initialValue: 3)
    #expect(released == nil)
    let controls = self.last
    let warning = QueryWarning.controllerDeallocatedStoreAccess(stateType: Numbers.self)
    func expectWarning<T>(_ use: () async throws -> T) async rethrows -> T {
      try await withExpectedWarnings([warning], use)
    }
    #expect(await expectWarning { controls.state.currentValue } == 3)
    #expect(await expectWarning { controls.context.queryControllers.count } == 1)
    #expect(await expectWarning { controls.isStale } == false)
    #expect(await expectWarning { controls.subscriberCount } == 0)
    #expect(await expectWarning { controls.canYieldRefetch } == false)
    await expectWarning { controls.yield(1) }
    await expectWarning { controls.yield(throwing: TestError()) }
    await expectWarning { controls.yield(with: .success(1)) }
    await expectWarning { controls.yieldReset() }
    #expect(await expectWarning { controls.yieldRefetchTask() } == nil)
    #expect(try await expectWarning { try await controls.yieldRefetch() } == nil)
    #expect(await expectWarning { controls.withExclusiveAccess { _ in 5 } } == 5)
  }
}
