import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues, .timeLimit(.minutes(10))) struct FetchGraphTests {
  private let client = QueryClient()
  private let stores = Box<[QueryStore<QueryState<Int?, Int>>]>([])

  /// Stores at the paths 0, 1… whose fetches a closure answers: it gets the index of the store, and
  /// which fetch of it this is, from 1.
  private func makeStores(
    _ count: Int,
    fetch: @escaping @Sendable (Int, Int, [QueryStore<QueryState<Int?, Int>>]) async throws -> Int
  ) -> [QueryStore<QueryState<Int?, Int>>] {
    self.stores.value = (0..<count).map { index in
      let counter = Counter()
      return self.client.store(
        for: ProbeQuery(
          path: [index],
          onFetch: { [stores] _, _ in
            try await fetch(index, counter.increment(), stores.value)
          })
      )
    }
    return self.stores.value
  }

  @Test func aQueryThatFetchesItselfDoesNotWaitForItself() async throws {
    let stores = self.makeStores(1) { _, number, stores in
      number == 1 ? try await stores[0].fetch() + 10 : number
    }
    let value = try await withExpectedWarnings([.queryFetchesItself(paths: [[0], [0]])]) {
      try await stores[0].fetch()
    }
    #expect(value == 12)
    #expect(!stores[0].isLoading)
  }

  @Test func aQueryThatFetchesItselfThroughAnotherDoesNotWaitForItself() async throws {
    let stores = self.makeStores(2) { index, number, stores in
      index == 0 && number == 2 ? 5 : try await stores[1 - index].fetch() + 10
    }
    let value = try await withExpectedWarnings([.queryFetchesItself(paths: [[0], [1], [0]])]) {
      try await stores[0].fetch()
    }
    #expect(value == 25)
  }

  @Test(arguments: [1, 2])
  func aQueryThatFetchesItselfAgainAndAgainFails(count: Int) async throws {
    let stores = self.makeStores(count) { index, _, stores in
      try await stores[(index + 1) % stores.count].fetch()
    }
    let recorder = WarningRecorder()
    _ = await recorder.record {
      await #expect(throws: QueryCircularFetchError.self) { try await stores[0].fetch() }
    }
    #expect(recorder.warnings.count == count)
    #expect(stores.allSatisfy { !$0.isLoading })
  }

  /// It shares nothing, so that it never meets itself.
  @Test(arguments: 1...3, [true, false])
  func aCircleWhoseCallerIsCancelledEnds(count: Int, isBeforehand: Bool) async throws {
    let gate = Gate()
    let stores = self.makeStores(count) { index, number, stores in
      if index == 0, number == 1 { await gate.passIgnoringCancellation() }
      return try await stores[(index + 1) % stores.count].fetch()
    }
    let recorder = WarningRecorder()
    _ = await recorder.record {
      let caller = Task {
        if isBeforehand { withUnsafeCurrentTask { $0?.cancel() } }
        return try await stores[0].fetch()
      }
      await gate.arrival()
      caller.cancel()
      gate.open()
      await #expect(throws: (any Error).self) { try await caller.value }
      for store in stores { await store.waitForState { !$0.isLoading } }
    }
  }

  /// Without deduplication a query may fetch itself, as long as it ends.
  @Test(arguments: [1, 2]) func aCircleOfQueriesThatShareNothingFails(count: Int) async throws {
    let made = self.stores
    made.value = (0..<count).map { index in
      QueryStore.detached(
        query: ProbeQuery(
          path: [index],
          onFetch: { _, _ in try await made.value[(index + 1) % count].fetch() }),
        initialValue: nil)
    }
    let stores = made.value
    let error = await #expect(throws: QueryCircularFetchError.self) { try await stores[0].fetch() }
    #expect(error?.paths == (0...count).map { [$0 % count] })
    #expect(stores.allSatisfy { !$0.isLoading && $0.error is QueryCircularFetchError })
  }

  @Test func aMutationMayGoDownATree() async throws {
    let stores = Box<[QueryStore<MutationState<Int, Int>>]>([])
    stores.value = [
      QueryStore.detached(
        mutation: BlockMutation<Int, Int>(["tree"]) { depth, _ in
          depth == 0 ? 0 : try await stores.value[0].mutate(with: depth - 1) + 1
        })
    ]
    #expect(try await stores.value[0].mutate(with: 6) == 6)
  }

  @Test func aQueryThatSharesNothingFetchesItselfOnce() async throws {
    let (stores, calls) = (self.stores, Counter())
    stores.value = [
      QueryStore.detached(
        query: ProbeQuery(
          path: [0],
          onFetch: { _, _ in
            let number = calls.increment()
            return number == 1 ? try await stores.value[0].fetch() + 10 : number
          }), initialValue: nil)
    ]
    #expect(try await stores.value[0].fetch() == 12)
  }

  @Test func twoFetchesUnderWayThatFetchOneAnotherDoNotWaitForEver() async throws {
    let gate = Gate()
    let stores = self.makeStores(2) { index, number, stores in
      if number > 1 { return number }
      try await gate.pass()
      return try await stores[1 - index].fetch()
    }
    let recorder = WarningRecorder()
    try await recorder.record {
      async let first = stores[0].fetch()
      async let second = stores[1].fetch()
      await gate.arrival(2)
      gate.open()
      let values = try await (first, second)
      #expect(values == (2, 2))
    }
    #expect(recorder.warnings.count == 1)
  }

  @Test func aTaskThatAwaitsItselfFails() async throws {
    let stores = self.makeStores(1) { _, _, stores in
      let task = try #require(stores[0].activeTasks.first)
      return try await task.runIfNeeded()
    }
    await withExpectedWarnings([.queryFetchesItself(paths: [[0]])]) {
      await #expect(throws: QueryCircularFetchError.self) { try await stores[0].fetch() }
    }
  }

  @Test func aPageThatFetchesAllPagesDoesNotWaitForItself() async throws {
    let store = Box<QueryStore<TestPagesState>?>(nil)
    let query = PagesQuery { call in
      if call.paging.request == .nextPage(2) { try await store.value?.fetchAllPages() }
      return call.id * 10
    }
    let pages = query.store()
    store.value = pages
    try await pages.load(1)
    let warning = QueryWarning.queryFetchesItself(paths: [["pages"], ["pages"]])
    let page = try await withExpectedWarnings([warning]) { try await pages.fetchNextPage() }
    #expect(page?.id == 2)
    #expect(pages.ids == [1, 2])
    store.value = nil
  }

  @Test func aHandlerIsNotInsideOfTheFetchThatCallsIt() async throws {
    let gate = Gate()
    let query = ProbeQuery(onFetch: { _, continuation in
      continuation.yield(1)
      try await gate.pass()
      return 2
    })
    let store = self.client.store(for: query)
    let fetches = Recorder<Task<Int, any Error>>()
    let subscription = store.subscribe(
      with: QueryEventHandler(onResultReceived: { result, context in
        guard context.queryResultUpdateReason == .yieldedResult else { return }
        fetches.append(Task { try await store.fetch() })
      })
    )
    let fetch = try #require(await fetches.wait(forCount: 1).first)
    let value = try await withExpectedWarnings([]) {
      while store.activeTasks.count < 2 { await Task.yield() }
      gate.open()
      return try await fetch.value
    }
    #expect(value == 2)
    subscription.cancel()
  }
}
