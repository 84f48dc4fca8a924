import TestSupport
import Testing

@testable import Query

/// Pages that are there already, set by hand or by another source, when they are fetched as the next or the previous
/// one.
@Suite(.warningsAreIssues) struct KnownPagesTests {
  private let store = QueryStore.detached(query: PagesQuery(PageSource(-3...5)))

  private func set(_ ids: ClosedRange<Int>) {
    self.store.currentValue = TestPages(
      uniqueElements: ids.map { TestPage(id: $0, value: 0) })
  }

  @Test func theLoopOfNextPagesGoesThroughThemAndEnds() async throws {
    try await self.store.fetch()
    self.set(1...3)
    var fetched = [Int?]()
    while self.store.hasNextPage, fetched.count < 20 {
      fetched.append(try await self.store.fetchNextPage()?.id)
    }
    #expect(fetched == [2, 3, 4, 5])
    #expect(self.store.currentValue.map(\.value) == [0, 20, 30, 40, 50])
  }

  @Test func theLoopOfPreviousPagesGoesThroughThemAndEnds() async throws {
    try await self.store.fetch()
    self.set(-1...1)
    var fetched = [Int?]()
    while self.store.hasPreviousPage, fetched.count < 20 {
      fetched.append(try await self.store.fetchPreviousPage()?.id)
    }
    #expect(fetched == [0, -1, -2, -3])
    #expect(self.store.currentValue.map(\.value) == [-30, -20, -10, 0, 0])
  }
}
