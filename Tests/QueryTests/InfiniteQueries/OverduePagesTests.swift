import Foundation
import TestSupport
import Testing

@testable import Query

/// Attempts at pages that `timeout(after:)` has given up, and that go on for a while.
@Suite(.warningsAreIssues) struct OverduePagesTests {
  private let clock = MockQueryClock()
  private let gate = Gate()
  private let storage = MemoryQueryStorage()

  /// Fetches a page by a second attempt, while the first one's time is over.
  private func timeOut(_ fetch: Task<some Sendable, any Error>) async {
    await self.gate.arrival()
    await self.clock.sleeper(within: .seconds(60))
    self.clock.advance(by: .seconds(60))
    _ = await fetch.result
  }

  private func store(
    _ fetch: @escaping @Sendable (PagesQuery.Call) async throws -> Int
  ) -> QueryStore<TestPagesState> {
    var context = QueryContext()
    context.queryStorage = self.storage
    context.queryClock = self.clock
    return .detached(
      query: PagesQuery(fetch: fetch).timeout(after: .seconds(60)).retry(limit: 1)
        .backoff(.noBackoff).delayer(.noDelay).persisted(),
      initialContext: context)
  }

  /// What an attempt says of its page when its time is over.
  enum Note: CaseIterable, Sendable {
    case metadata, notStored, removal

    func say(to continuation: QueryContinuation<Int>) {
      switch self {
      case .metadata: _ = continuation.returning(-1, metadata: Data("old".utf8))
      case .notStored: _ = continuation.returning(-1, metadata: nil, isStored: false)
      case .removal: _ = continuation.removing(TestError())
      }
    }
  }

  @Test(arguments: Note.allCases, [true, false])
  func whatAnOverdueAttemptSaysOfAPageDoesNotCount(_ note: Note, isRepeatedWell: Bool) async throws
  {
    let (gate, said, metadata) = (self.gate, Recorder<Bool>(), Recorder<Data?>())
    let fetch: @Sendable (PagesQuery.Call) async throws -> Int = { call in
      switch call.index {
      case 0, 1: return call.id * 10
      case 2:
        await gate.passIgnoringCancellation()
        note.say(to: call.continuation)
        said.append(true)
        return -1
      case 3:
        gate.open()
        await said.wait(forCount: 1)
        if !isRepeatedWell { throw TestError() }
        return 30
      default:
        metadata.append(call.context.storedValue?.metadata)
        return call.id * 10
      }
    }
    let store = self.store(fetch)
    try await store.load(2)
    await self.timeOut(Task { try await store.fetchNextPage() })
    let ids = isRepeatedWell ? [1, 2, 3] : [1, 2]
    #expect(store.ids == ids)
    try await self.storage.flush()
    let next = self.store(fetch)
    await next.hydrated()
    #expect(next.ids == ids)
    try await store.fetchAllPages()
    #expect(metadata.elements == ids.map { _ in nil })
  }

  /// Nor does a page of it, and it asks for no more.
  @Test func aPageOfAnOverdueAttemptIsNoPageOfTheRefetch() async throws {
    let (gate, source) = (self.gate, PageSource(1...3))
    let query = PagesQuery(source) { call in
      switch call.index {
      case 3:
        await gate.passIgnoringCancellation()
        return -1
      case 4: gate.open()
      default: break
      }
      return call.id * 10
    }
    .timeout(after: .seconds(60)).retry(limit: 1).backoff(.noBackoff).delayer(.noDelay)
    var context = QueryContext()
    context.queryClock = self.clock
    let store = QueryStore.detached(query: query, initialContext: context)
    try await store.load(3)
    let results = Recorder<Int>()
    let handler = InfiniteQueryEventHandler<Int, Int>(
      onPageResultReceived: { _, result, _ in
        if let page = try? result.get() { results.append(page.value) }
      })
    await self.timeOut(Task { try await store.fetchAllPages(handler: handler) })
    #expect(store.currentValue.map(\.value) == [10, 20, 30])
    #expect(results.elements == [10, 20, 30])
    #expect(source.ids == [1, 2, 3, 1, 1, 2, 3])
  }
}
