// A program with `import Query` alone, built as users build theirs: the optimizer inlines the library's generic
// code into it, which no test of the package sees. What it hands over is counted, and all of it must be freed.
import Query
import Synchronization

let liveCount = Atomic(0)

/// What values and closures hold.
final class Counted: Sendable {
  let number: Int

  init(_ number: Int) {
    self.number = number
    liveCount.add(1, ordering: .relaxed)
  }

  deinit { liveCount.subtract(1, ordering: .relaxed) }
}

struct Wrong: Error {
  let what: String
}

func expect(_ condition: Bool, _ what: String) throws {
  guard condition else { throw Wrong(what: what) }
}

// MARK: - Tasks

/// A task whose work holds what nothing else does.
func emptyTask() -> QueryTask<Void> {
  let held = Counted(0)
  return QueryTask(context: QueryContext()) { _, _ in withExtendedLifetime(held) {} }
}

func emptyChain(of count: Int) -> QueryTask<Void> {
  var last = emptyTask()
  for _ in 1..<count {
    let next = emptyTask()
    next.schedule(after: last)
    last = next
  }
  return last
}

func chain<Value: Sendable>(
  of count: Int,
  _ value: @escaping @Sendable (Counted) -> Value
) -> QueryTask<Value> {
  func task(_ number: Int) -> QueryTask<Value> {
    let held = Counted(number)
    return QueryTask(context: QueryContext()) { _, _ in value(held) }
  }
  var last = task(0)
  for number in 1..<count {
    let next = task(number)
    next.schedule(after: last)
    last = next
  }
  return last
}

func tasks() async throws {
  _ = emptyTask()
  _ = emptyChain(of: 100_000)
  try await emptyTask().runIfNeeded()
  try await emptyChain(of: 100_000).runIfNeeded()
  _ = chain(of: 1_000) { $0 }
  try expect(try await chain(of: 1_000) { $0 }.runIfNeeded().number == 999, "tasks of objects")
  _ = chain(of: 1_000) { $0.number }
  try expect(try await chain(of: 1_000) { $0.number }.runIfNeeded() == 999, "tasks of numbers")
  let cancelled = emptyTask()
  cancelled.cancel()
  let value: Void? = try? await cancelled.runIfNeeded()
  try expect(value == nil, "a cancelled task")
  let mapped = chain(of: 4) { $0 }.map { Counted($0.number * 2) }
  try expect(try await mapped.runIfNeeded().number == 6, "a mapped task")
}

// MARK: - Queries

struct CountedQuery: QueryRequest {
  let number: Int

  var path: QueryPath { ["counted", self.number] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Counted>
  ) async throws -> Counted {
    continuation.yield(Counted(-self.number))
    await Task.yield()
    if context.retryIndex < self.number % 3 { throw Wrong(what: "an attempt") }
    return Counted(self.number)
  }
}

func queries() async throws {
  let client = QueryClient()
  let events = Atomic(0)
  for number in 0..<100 {
    let query = CountedQuery(number: number).retry(limit: 2).backoff(.noBackoff).delayer(.noDelay)
    let store = client.store(for: query)
    let subscription = store.subscribe { _ in events.add(1, ordering: .relaxed) }
    defer { subscription.cancel() }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<20 { group.addTask { try await store.fetch().number } }
      for try await result in group { try expect(result == number, "a shared fetch") }
    }
    store.currentValue = Counted(1_000)
    try expect(store.currentValue?.number == 1_000, "a value that was set")
    store.invalidate()
    try expect(try await store.fetch().number == number, "a refetch")
    let dropped = store.fetchTask()
    dropped.cancel()
  }
  try expect(events.load(ordering: .relaxed) > 0, "the states of a subscription")
  let block = BlockQuery(["block"]) { (_: QueryContext) in Counted(7) }
  try expect(try await client.store(for: block).fetch().number == 7, "a query of a closure")
}

// MARK: - Lists

struct CountedPages: InfiniteQueryRequest {
  var path: QueryPath { ["pages"] }
  let initialPageId = 0

  func pageId(
    after page: InfiniteQueryPage<Int, Counted>,
    using paging: InfiniteQueryPaging<Int, Counted>,
    in context: QueryContext
  ) -> Int? { page.id < 50 ? page.id + 1 : nil }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, Counted>,
    in context: QueryContext,
    with continuation: QueryContinuation<Counted>
  ) async throws -> Counted {
    continuation.yield(Counted(-1))
    if paging.pageId % 5 == 4, context.retryIndex == 0 { throw Wrong(what: "an attempt") }
    return Counted(paging.pageId)
  }
}

func lists() async throws {
  let client = QueryClient()
  let query = CountedPages().retry(limit: 1).backoff(.noBackoff).delayer(.noDelay)
  let store = client.store(for: query)
  while store.hasNextPage { try await store.fetchNextPage() }
  try expect(store.currentValue.map(\.value.number) == Array(0...50), "all pages, one by one")
  try await store.fetchAllPages()
  try expect(store.currentValue.map(\.value.number) == Array(0...50), "all pages at once")
}

// MARK: - Mutations

func mutations() async throws {
  let client = QueryClient()
  let mutation = BlockMutation(["send"]) { (value: Counted, _: QueryContext) in
    if value.number % 10 == 9 { throw Wrong(what: "a tenth") }
    return Counted(value.number + 1)
  }
  let store = client.store(for: mutation.retry(limit: 0))
  for number in 0..<500 {
    let result = try? await store.mutate(with: Counted(number))
    try expect(result?.number == (number % 10 == 9 ? nil : number + 1), "a mutation")
  }
}

// MARK: - Context

struct NumberKey: QueryContext.Key {
  static var defaultValue: Counted? { nil }
}

func contexts() throws {
  var context = QueryContext()
  for number in 0..<1_000 {
    let copy = context
    context[NumberKey.self] = Counted(number)
    try expect(copy[NumberKey.self]?.number == (number == 0 ? nil : number - 1), "a copied context")
  }
}

do {
  try await tasks()
  try await queries()
  try await lists()
  try await mutations()
  try contexts()
  // Another thread may be about to release the last of it.
  for _ in 0..<10_000 where liveCount.load(ordering: .relaxed) != 0 {
    try await Task.sleep(for: .milliseconds(1))
  }
  try expect(liveCount.load(ordering: .relaxed) == 0, "what is freed, once")
  print("query-alone: all is well")
} catch {
  fatalError("\(error)")
}
