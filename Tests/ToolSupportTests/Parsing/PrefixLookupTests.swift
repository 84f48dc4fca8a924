import Testing
import ToolSupport

struct PrefixLookupTests {
  private let names = ["3f2a", "3f2b", "4A00", "4a00bb"]

  private func find(_ prefix: String) throws -> Int {
    try PrefixLookup.index(of: prefix, in: self.names, noun: "row")
  }

  @Test func aWholeNameOrTheBeginningOfOneIsFound() throws {
    #expect(try self.find("3f2b") == 1)
    #expect(try self.find("3F2A") == 0)
    #expect(try self.find("4a00b") == 3)
    #expect(try self.find("4a00") == 2, "a whole name is not ambiguous")
  }

  @Test func anAmbiguousBeginningNamesItsCandidates() {
    #expect(throws: UsageError("“3f” is the beginning of 2: 3f2a, 3f2b")) { try self.find("3f") }
    let many = (10...40).map { "a\($0)" }
    #expect(
      throws: UsageError(
        "“a” is the beginning of 31: a10, a11, a12, a13, a14, a15, a16, a17, a18, a19 and 21 more")
    ) { try PrefixLookup.index(of: "a", in: many, noun: "row") }
  }

  @Test func whatIsThereNotIsSaid() {
    #expect(throws: UsageError("there is no row “9”")) { try self.find("9") }
    #expect(throws: UsageError("the row has an empty name")) { try self.find("") }
  }
}
