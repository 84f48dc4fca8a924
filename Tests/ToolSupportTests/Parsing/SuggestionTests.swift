import Testing
import ToolSupport

struct SuggestionTests {
  private let names = ["partition", "store", "json", "list", "pages"]

  @Test(arguments: [
    ("partion", "partition"), ("partitoin", "partition"), ("stroe", "store"), ("jsno", "json"),
    ("LIST", "list"), ("part", "partition"), ("lst", "list"), ("page", "pages"),
  ])
  func theNearestIsFound(_ word: String, _ name: String) {
    #expect(Suggestion.nearest(to: word, of: self.names) == name)
  }

  @Test(arguments: ["", "x", "zebra", "outbox", String(repeating: "x", count: 100_000)])
  func whatIsFarIsNotSuggested(_ word: String) {
    #expect(Suggestion.nearest(to: word, of: self.names) == nil)
  }
}
