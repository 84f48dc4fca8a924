import Foundation
import Testing

@testable import Query

@Suite struct IdentityPrefixTests {
  @Test(
    arguments: [
      (["players"], #"["players"]"#, true),
      (["players"], #"["players",3]"#, true),
      (["players"], #"["players,",3]"#, false),
      (["players"], #"["playersx"]"#, false),
      (["players"], #"["player"]"#, false),
      (["players"], #"["players""#, false),
      (["players"], "[]", false),
      (["players"], "", false),
      ([], "[]", true),
      ([], #"["a",1]"#, true),
      ([], "chosen by hand", false),
      (["é"], #"["é",1]"#, true),
    ] as [([String], String, Bool)])
  func pathsMatchByTheirWholeElements(_ path: [String], _ text: String, _ isMatch: Bool) throws {
    let elements: [any Hashable & Sendable] = path
    let prefix = try IdentityPrefix(path: QueryPath(elements))
    #expect(prefix.matches(QueryIdentity(canonicalText: text)) == isMatch)
  }

  @Test func aPathMatchesItsBeginnings() throws {
    let identity = try QueryIdentity(path: ["a", 1, [2, 3]])
    for path: QueryPath in [[], ["a"], ["a", 1], ["a", 1, [2, 3]]] {
      #expect(try IdentityPrefix(path: path).matches(identity))
    }
    #expect(!(try IdentityPrefix(path: ["a", 1, [2]]).matches(identity)))
  }

  @Test func textThatOnlyBeginsAlikeIsNotUnderIt() throws {
    #expect(try !self.isUnder([12], [1]))
    #expect(try !self.isUnder([1.5], [1]))
    #expect(try !self.isUnder(["1"], [1]))
    #expect(try !self.isUnder([["players", "3"]], ["players"]))
    #expect(try !self.isUnder([["players"]], [["players", "3"]]))
    #expect(try self.isUnder([["players", "3"], 1], [["players", "3"]]))
    #expect(try !self.isUnder(["players"], ["players", 3]))
  }

  @Test func whatIsQuotedMakesNoDifference() throws {
    let odd: [String] = ["\"", "\\", "]", ",", "[", "\0", "a\",\"b", "👩‍👩‍👧", "caf\u{e9}"]
    for first in odd {
      for second in odd {
        #expect(try self.isUnder([first, 1], [second]) == (first == second), "\(first) \(second)")
      }
    }
    #expect(try self.isUnder(["cafe\u{301}", 1], ["caf\u{e9}"]))
  }

  @Test func aPathWithoutAnIdentityIsRefused() {
    #expect(throws: QueryIdentityError.self) { try IdentityPrefix(path: [Opaque()]) }
  }

  private func isUnder(_ path: QueryPath, _ prefix: QueryPath) throws -> Bool {
    try IdentityPrefix(path: prefix).matches(try QueryIdentity(path: path))
  }
}

private final class Opaque: Hashable, Sendable {
  static func == (lhs: Opaque, rhs: Opaque) -> Bool { lhs === rhs }

  func hash(into hasher: inout Hasher) {}

  /// As an index compares them: by their bytes.
  @Test func whatMatchesLiesInTheRanges() throws {
    let texts = [
      "", "[", "[]", "[1]", "[1,2]", "[10]", "[1.5]", #"["a"]"#, #"["a",1]"#, #"["a","b"]"#,
      #"["ab"]"#, #"["a"]x"#, #"["a"-"#, #"["a"^"#, "\\", "]", #"[{"Date":1}]"#,
      #"[{"Date":1},2]"#, #"["é"]"#,
    ]
    let date = Date(timeIntervalSince1970: 1)
    for path in [[], [1], ["a"], ["a", "b"], ["é"], [date]] as [QueryPath] {
      let prefix = try IdentityPrefix(path: path)
      for text in texts {
        let isInside = prefix.ranges.contains { lower, upper in
          !text.utf8.lexicographicallyPrecedes(lower.utf8)
            && text.utf8.lexicographicallyPrecedes(upper.utf8)
        }
        #expect(
          isInside == prefix.matches(QueryIdentity(canonicalText: text)), "\(text) under \(path)")
      }
    }
  }
}
