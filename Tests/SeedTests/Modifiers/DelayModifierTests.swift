import Foundation
import Query
import TestSupport
import Testing

// Document 003, "Creating a Modifier": blocks 1 to 3.

// MARK: - Block 1

private struct DelayModifier<Query: QueryRequest>: QueryModifier {
  let seconds: TimeInterval

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    try await context.queryDelayer.delay(for: seconds)
    return try await query.fetch(in: context, with: continuation)
  }
}

// MARK: - Block 2

extension QueryRequest {
  fileprivate func delay(
    for seconds: TimeInterval
  ) -> ModifiedQuery<Self, some QueryModifier<Self>> {
    self.modifier(DelayModifier(seconds: seconds))
  }
}

// MARK: - Block 3

private struct FirstQuery: QueryRequest {
  // ...

  var path: QueryPath { ["first"] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    1
  }
}

private struct SecondQuery: QueryRequest {
  // ...

  var path: QueryPath { ["second"] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    "two"
  }
}

// MARK: - Tests

@Suite("Document 003: a modifier of one's own", .warningsAreIssues)
struct DelayModifierTests {
  @Test("One modifier delays any query, by the delayer of the context")
  func delay() async throws {
    let query1 = FirstQuery().delay(for: 1)
    let query2 = SecondQuery().delay(for: 2)

    let delayer = RecordingDelayer()
    let store1 = QueryStore.detached(query: query1, initialValue: nil)
    let store2 = QueryStore.detached(query: query2, initialValue: nil)
    store1.context.queryDelayer = delayer
    store2.context.queryDelayer = delayer

    #expect(try await store1.fetch() == 1)
    #expect(delayer.delays == [1])
    #expect(try await store2.fetch() == "two")
    #expect(delayer.delays == [1, 2])
    #expect(store1.path == ["first"])
    #expect(store2.path == ["second"])
  }

  @Test("The query runs after the delay, and not where the delay was cancelled")
  func order() async throws {
    let gate = Gate()
    let store = QueryStore.detached(query: FirstQuery().delay(for: 1), initialValue: nil)
    store.context.queryDelayer = RecordingDelayer(gate: gate)

    let task = store.fetchTask()
    async let value = task.runIfNeeded()
    await gate.arrival()
    #expect(store.isLoading)
    #expect(store.currentValue == nil)
    gate.open()
    #expect(try await value == 1)

    gate.close()
    let cancelled = Task { try await store.fetch() }
    await gate.arrival(2)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(store.valueUpdateCount == 1)
  }

  @Test("Note: a modified infinite query, and a modified mutation, are what they were")
  func conformances() async throws {
    func isInfinite(_ query: some InfiniteQueryRequest<Int, String>) -> Bool { true }
    func isMutation(_ mutation: some MutationRequest<Int, String>) -> Bool { true }
    let delayer = RecordingDelayer()
    let pages = Pages().delay(for: 3)
    let mutation = Writing().delay(for: 4)
    #expect(isInfinite(pages))
    #expect(isMutation(mutation))

    let pagesStore = QueryStore.detached(query: pages)
    pagesStore.context.queryDelayer = delayer
    let page = try await pagesStore.fetchNextPage()
    #expect(page == InfiniteQueryPage(id: 0, value: "page 0"))

    let mutationStore = QueryStore.detached(mutation: mutation)
    mutationStore.context.queryDelayer = delayer
    #expect(try await mutationStore.mutate(with: 5) == "wrote 5")
    #expect(delayer.delays == [3, 4])
  }
}

private struct Pages: InfiniteQueryRequest, Hashable {
  let initialPageId = 0

  func pageId(
    after page: InfiniteQueryPage<Int, String>,
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? {
    page.id + 1
  }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    "page \(paging.pageId)"
  }
}

private struct Writing: MutationRequest, Hashable {
  func mutate(
    with arguments: Int,
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    "wrote \(arguments)"
  }
}
