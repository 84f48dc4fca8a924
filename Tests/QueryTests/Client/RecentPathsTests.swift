import Testing

@testable import Query

struct RecentPathsTests {
  private let path: QueryPath = ["a", 1]

  @Test(
    arguments: [
      (.exactly(["a", 1]), true), (.exactly(["a"]), false), (.exactly(["a", 1, 2]), false),
      (.beginning(with: []), true), (.beginning(with: ["a"]), true),
      (.beginning(with: ["a", 1]), true), (.beginning(with: ["a", 1, 2]), false),
      (.beginning(with: ["b"]), false),
    ] as [(AffectedPaths, Bool)]
  )
  func whatIsNotedCoversItsPaths(affected: AffectedPaths, isCovered: Bool) {
    var recent = RecentPaths(limit: 64)
    recent.note(affected)
    #expect(recent.count == 1)
    #expect(recent.covers(self.path, since: 0) == isCovered)
    #expect(!recent.covers(self.path, since: 1))
  }

  @Test func whoBeganTooLongAgoCountsAsAffected() {
    var recent = RecentPaths(limit: 64)
    for _ in 0..<64 { recent.note(.exactly(["b"])) }
    #expect(!recent.covers(self.path, since: 0))
    recent.note(.exactly(["b"]))
    #expect(recent.covers(self.path, since: 0))
    #expect(!recent.covers(self.path, since: 1))
  }
}
