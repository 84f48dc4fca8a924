import Testing

@testable import Query

struct ClearingLogTests {
  private let path: QueryPath = ["a", 1]

  @Test(
    arguments: [
      (.exactly(["a", 1]), true), (.exactly(["a"]), false), (.exactly(["a", 1, 2]), false),
      (.beginning(with: []), true), (.beginning(with: ["a"]), true),
      (.beginning(with: ["a", 1]), true), (.beginning(with: ["a", 1, 2]), false),
      (.beginning(with: ["b"]), false),
    ] as [(ClearedPaths, Bool)]
  )
  func aClearingCoversItsPaths(cleared: ClearedPaths, isCovered: Bool) {
    var log = ClearingLog()
    log.note(cleared)
    #expect(log.count == 1)
    #expect(log.covers(self.path, since: 0) == isCovered)
    #expect(!log.covers(self.path, since: 1))
  }

  @Test func whatWasGivenUpLongAgoCountsAsCleared() {
    var log = ClearingLog()
    for _ in 0..<64 { log.note(.exactly(["b"])) }
    #expect(!log.covers(self.path, since: 0))
    log.note(.exactly(["b"]))
    #expect(log.covers(self.path, since: 0))
    #expect(!log.covers(self.path, since: 1))
  }
}
