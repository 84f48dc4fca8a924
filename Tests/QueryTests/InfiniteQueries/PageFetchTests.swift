import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct PageFetchTests {
  private let events = EventCollector<TestPagesState>()

  // MARK: - Reset

  @Test func afterAResetOnlyThePageInHandAndTheFetchEnd() async throws {
    let gate = Gate()
    let store = PagesQuery { call in
      guard call.paging.request == .allPages else { return call.id * 10 }
      await gate.passIgnoringCancellation()
      call.continuation.yield(1)
      return 2
    }
    .store()
    try await store.load(2)
    let subscription = store.subscribe(with: self.events.infiniteHandler())
    let task = store.fetchAllPagesTask()
    let pages = Task { try await task.runIfNeeded() }
    await gate.arrival()
    store.reset()
    gate.open()
    await #expect(throws: CancellationError.self) { try await pages.value }
    #expect(
      self.events.events == [
        .stateChanged, .stateChanged, .fetchingStarted, .pageStarted("1"), .stateChanged,
        .pageEnded("1"), .fetchingEnded,
      ]
    )
    #expect(store.currentValue.isEmpty)
    #expect(store.valueUpdateCount == 0 && store.errorUpdateCount == 0)
    subscription.cancel()
  }

  @Test func aPageThatStartsAfterAResetDoesNotEndForThoseWhoCameLater() async throws {
    let gate = Gate()
    let store = QueryStore.detached(query: PagesQuery().modifier(WaitingLayer(gate: gate)))
    let task = store.fetchNextPageTask()
    let page = Task { try await task.runIfNeeded() }
    await gate.arrival()
    store.reset()
    let subscription = store.subscribe(with: self.events.infiniteHandler())
    gate.open()
    await #expect(throws: CancellationError.self) { try await page.value }
    #expect(self.events.events == [.stateChanged, .fetchingEnded])
    subscription.cancel()
  }

  @Test func aTaskThatIsResetBeforeItRanHasNoEvents() async throws {
    let store = PagesQuery().store()
    let task = store.fetchNextPageTask()
    let subscription = store.subscribe(with: self.events.infiniteHandler())
    store.reset()
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
    #expect(self.events.events == [.stateChanged, .stateChanged])
    subscription.cancel()
  }

  // MARK: - Yields

  @Test func aYieldAfterThePageReturnedIsAWarningAndNothingElse() async throws {
    let continuations = Recorder<QueryContinuation<Int>>()
    let store = PagesQuery { call in
      continuations.append(call.continuation)
      return call.id * 10
    }
    .store()
    try await store.load(1)
    let subscription = store.subscribe(with: self.events.infiniteHandler())
    await withExpectedWarnings([
      .queryYieldedAfterReturning(Result<Int, any Error>.success(5))
    ]) {
      continuations.elements[0].yield(5)
    }
    #expect(self.events.events == [.stateChanged])
    #expect(store.currentValue == testPages(1...1))
    #expect(store.valueUpdateCount == 1)
    subscription.cancel()
  }

  @Test func aYieldOfAnEarlierPageOfTheSameFetchIsAWarning() async throws {
    let continuations = Recorder<QueryContinuation<Int>>()
    let store = PagesQuery { call in
      continuations.append(call.continuation)
      if call.paging.request == .allPages, call.id == 2 {
        continuations.elements[call.index - 1].yield(5)
      }
      return call.id * 10
    }
    .store()
    try await store.load(2)
    try await withExpectedWarnings([
      .queryYieldedAfterReturning(Result<Int, any Error>.success(5))
    ]) {
      try await store.fetchAllPages(handler: self.events.infiniteHandler())
    }
    #expect(!self.events.events.contains(.pageYielded("1", "5")))
    #expect(store.valueUpdateCount == 3)
  }

  @Test func theContextOfAYieldReachesThePageHandlersAndTheStore() async throws {
    let yieldDate = Date(timeIntervalSince1970: 5)
    let taskDate = Date(timeIntervalSince1970: 9)
    let query = PagesQuery { call in
      var context = QueryContext()
      context.queryClock = .timeFreeze(yieldDate)
      context.maxRetries = 42
      call.continuation.yield(11, using: context)
      return 10
    }
    let store = QueryStore.detached(query: query.clock(.timeFreeze(taskDate)))
    try await store.fetchNextPage(handler: self.events.infiniteHandler())
    let entries = self.events.entries.elements
    let yielded = entries[3]
    let changed = entries[4]
    #expect(yielded.event == .pageYielded("1", "11"))
    for entry in [yielded, changed] {
      #expect(entry.context.maxRetries == 42)
      #expect(entry.context.queryResultUpdateReason == .yieldedResult)
      #expect(entry.context.queryRunningTaskIdentifier != nil)
      #expect(entry.context.currentFetchingQueryStore?.path == ["pages"])
    }
    // Dates use the clock of the task.
    #expect(changed.state?.valueLastUpdatedAt == taskDate)
    #expect(entries[5].context.maxRetries == 0)
  }

  @Test func theIdentifiersAreAskedForAtEachYield() async throws {
    let source = PageSource()
    let store = PagesQuery(source) { call in
      source.setPage(after: call.id, to: 40)
      call.continuation.yield(1)
      source.setPage(after: call.id, to: nil)
      call.continuation.yield(2)
      source.setPage(after: call.id, to: 50)
      return 3
    }
    .store()
    try await store.fetchNextPage(handler: self.events.infiniteHandler())
    #expect(self.events.states.map(\.nextPageId) == [nil, 40, nil, 50])
    #expect(source.questionsAfter.elements.map(\.page.value) == [1, 2, 3])
    #expect(source.questionsBefore.elements.map(\.page.value) == [1, 2, 3])
  }
}

/// Waits at a gate before the request is asked, whether the fetch is cancelled or not.
private struct WaitingLayer<Query: QueryRequest>: QueryModifier {
  let gate: Gate

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    await self.gate.passIgnoringCancellation()
    return try await query.fetch(in: context, with: continuation)
  }
}
