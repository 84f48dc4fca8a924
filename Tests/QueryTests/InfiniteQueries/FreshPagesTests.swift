import Foundation
import Query
import TestSupport
import Testing

/// How long a list is fresh whose pages say so each.
@Suite(.warningsAreIssues) struct FreshPagesTests {
  private let clock = MockQueryClock()

  /// A store of pages that are fresh for so many seconds.
  private func store(_ seconds: [Int?]) -> QueryStore<TestPagesState> {
    let query = PagesQuery { call in
      call.continuation.returning(
        call.id * 10, metadata: nil, freshFor: seconds[call.id - 1].map { .seconds($0) })
    }
    return .detached(query: query.clock(self.clock))
  }

  private func expect(
    _ store: QueryStore<TestPagesState>, freshFor seconds: Int,
    _ location: SourceLocation = #_sourceLocation
  ) {
    self.clock.advance(by: .seconds(seconds - 1))
    #expect(!store.isStale, sourceLocation: location)
    self.clock.advance(by: .seconds(2))
    #expect(store.isStale, sourceLocation: location)
  }

  @Test(arguments: [[60, 10, 30], [10, 60, 30], [60, 30, 10]])
  func aListIsFreshAsLongAsEachOfItsPages(_ seconds: [Int]) async throws {
    let store = self.store(seconds)
    try await store.load(3)
    self.expect(store, freshFor: 10)
    try await store.fetchAllPages()
    self.expect(store, freshFor: 10)
  }

  /// It was fresh for a minute, of which a part is over.
  @Test func aPageThatIsAddedMakesTheOthersNoFresher() async throws {
    let store = self.store([60, 60, 5])
    try await store.load(1)
    self.clock.advance(by: .seconds(40))
    try await store.fetchNextPage()
    self.expect(store, freshFor: 20)
    try await store.fetchNextPage()
    self.clock.advance(by: .seconds(1))
    #expect(store.isStale)
    try await store.fetchAllPages()
    self.expect(store, freshFor: 5)
  }

  /// Then it is as any list: stale if nothing else is said.
  @Test func aPageThatSaysNothingMakesNoListFresh() async throws {
    let store = self.store([60, nil, 60])
    try await store.load(1)
    #expect(!store.isStale)
    for _ in 0..<2 {
      try await store.fetchNextPage()
      #expect(store.isStale)
    }
    try await store.fetchAllPages()
    #expect(store.isStale)
  }
}
