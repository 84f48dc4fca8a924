import Foundation
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct PagePlanTests {
  private static func stored(_ pages: [(Int64, Int)]) -> [PagePlan.Stored] {
    pages.map { position, id in
      PagePlan.Stored(
        position: position, checksum: XXH128(hashing: "\(id)"), pageID: Data("\(id)".utf8))
    }
  }

  private static func wanted(_ ids: [Int], changed: Set<Int> = []) -> [PagePlan.Wanted] {
    ids.map { id in
      let text = changed.contains(id) ? "new \(id)" : "\(id)"
      return PagePlan.Wanted(checksum: XXH128(hashing: text), pageID: Data("\(id)".utf8))
    }
  }

  private let three = Self.stored([(0, 1), (PageRow.gap, 2), (2 * PageRow.gap, 3)])

  @Test func equalPagesNeedNothing() {
    let plan = PagePlan(from: self.three, to: Self.wanted([1, 2, 3]))
    #expect(plan.deletions.isEmpty)
    #expect(plan.writes.isEmpty)
  }

  @Test func aChangedPageIsWrittenInItsPlace() {
    let plan = PagePlan(from: self.three, to: Self.wanted([1, 2, 3], changed: [2]))
    #expect(plan.deletions.isEmpty)
    #expect(plan.writes == [.init(position: PageRow.gap, index: 1)])
  }

  @Test func pagesAtTheEndsAndBetweenMoveNoOther() {
    let plan = PagePlan(from: self.three, to: Self.wanted([8, 9, 1, 2, 7, 3, 4]))
    let gap = PageRow.gap
    #expect(plan.deletions.isEmpty)
    #expect(
      plan.writes == [
        .init(position: -2 * gap, index: 0), .init(position: -gap, index: 1),
        .init(position: gap + gap / 2, index: 4), .init(position: 3 * gap, index: 6),
      ])
  }

  @Test func aPageThatIsGoneIsDeleted() {
    let plan = PagePlan(from: self.three, to: Self.wanted([1, 3]))
    #expect(plan.deletions == [PageRow.gap])
    #expect(plan.writes.isEmpty)
  }

  @Test(arguments: [[3, 2, 1], [1, 1, 2, 3], [2, 1, 3]])
  func pagesThatChangedPlacesAreAllWritten(_ ids: [Int]) {
    let plan = PagePlan(from: self.three, to: Self.wanted(ids))
    #expect(plan.deletions == self.three.map(\.position))
    #expect(plan.writes.map(\.position) == ids.indices.map { Int64($0) * PageRow.gap })
  }

  @Test(
    arguments: [
      [(0, 1), (1, 2)], [(.min, 1), (.max, 2)], [(.max - 1, 1), (.max, 2)],
    ] as [[(Int64, Int)]])
  func whereAGapIsUsedUpAllAreWritten(_ pages: [(Int64, Int)]) {
    let plan = PagePlan(from: Self.stored(pages), to: Self.wanted([1, 9, 2]))
    #expect(plan.deletions == pages.map(\.0))
    #expect(plan.writes.map(\.position) == [0, PageRow.gap, 2 * PageRow.gap])
  }

  @Test(arguments: SeededGenerator.seeds(20))
  func whatThePlanLeavesIsWhatIsWanted(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var stored = [PagePlan.Stored]()
    for _ in 0..<200 {
      var ids = Array(0..<12).shuffled(using: &generator).prefix(
        .random(in: 0...8, using: &generator))
      if Bool.random(using: &generator) { ids.sort() }
      let wanted = Self.wanted(Array(ids), changed: Bool.random(using: &generator) ? [3, 4] : [])
      let plan = PagePlan(from: stored, to: wanted)
      var pages = [Int64: PagePlan.Stored]()
      for page in stored { pages[page.position] = page }
      for position in plan.deletions { pages[position] = nil }
      for write in plan.writes {
        let page = wanted[write.index]
        pages[write.position] = PagePlan.Stored(
          position: write.position, checksum: page.checksum, pageID: page.pageID)
      }
      stored = pages.values.sorted { $0.position < $1.position }
      #expect(stored.map(\.pageID) == wanted.map(\.pageID))
      #expect(stored.map(\.checksum) == wanted.map(\.checksum))
    }
  }
}
