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

  @Test func namedQueriesAreUnderTheBeginningsOfTheirPath() throws {
    let identity = try QueryIdentity(path: ["a", 1, [2, 3]], name: "n")
    #expect(identity.text == #"[{},"a",1,[2,3],{"as":"n"}]"#)
    for path: QueryPath in [[], ["a"], ["a", 1], ["a", 1, [2, 3]]] {
      #expect(try IdentityPrefix(path: path).matches(identity))
      let text = try QueryIdentity(path: path)
      #expect(IdentityPrefix(identity: text).matches(identity))
      #expect(try QueryIdentity.prefixes(of: path) == [text])
    }
    for path: QueryPath in [["n"], ["a", 2], [1], ["a", 1, [2]]] {
      #expect(try !IdentityPrefix(path: path).matches(identity), "\(path)")
    }
    #expect(try QueryIdentity(path: [], name: "n").text == #"[{},{"as":"n"}]"#)
    let odd = try QueryIdentity(path: ["a"], name: "\"e\u{301}")
    #expect(odd.text.utf8.elementsEqual("[{},\"a\",{\"as\":\"\\\"\u{e9}\"}]".utf8))
    // The text with the mark is found by itself, as a person would type it.
    #expect(IdentityPrefix(identity: QueryIdentity(canonicalText: #"[{},"a"]"#)).matches(identity))
    #expect(IdentityPrefix(identity: QueryIdentity(canonicalText: "[{}]")).matches(identity))
  }

  @Test func theTypesOfAPathsValuesAreNotInANamedIdentity() throws {
    let date = Date(timeIntervalSince1970: 1)
    let path: QueryPath = [Place(number: 1), date]
    let identity = try QueryIdentity(path: path, name: "n")
    #expect(identity.text == #"[{},{"number":1},{"Date":1},{"as":"n"}]"#)
    let other = try QueryIdentity(path: path)
    for beginning: QueryPath in [[Place(number: 1)], path] {
      let prefix = try IdentityPrefix(path: beginning)
      #expect(prefix.matches(identity))
      #expect(prefix.matches(other))
      // What is written down finds the same.
      let prefixes = try QueryIdentity.prefixes(of: beginning).map { IdentityPrefix(identity: $0) }
      #expect(prefixes.count == 2)
      #expect(prefixes.contains { $0.matches(identity) })
      #expect(prefixes.contains { $0.matches(other) })
    }
    #expect(try !IdentityPrefix(path: [Place(number: 2)]).matches(identity))
    #expect(throws: QueryIdentityError.self) { try QueryIdentity(path: [Opaque()], name: "n") }
  }

  @Test func oneIdentityIsFoundWithoutWhatIsUnderIt() throws {
    let prefix = IdentityPrefix(only: try QueryIdentity(path: ["a"]))
    for (path, isFound) in [(["a"], true), (["a", "b"], false), ([], false), (["ab"], false)] {
      let path: [any Hashable & Sendable] = path
      #expect(prefix.matches(try QueryIdentity(path: QueryPath(path))) == isFound)
    }
    #expect(!prefix.matches(try QueryIdentity(path: ["a"], name: "n")))
    #expect(
      !IdentityPrefix(only: QueryIdentity(canonicalText: "\u{e9}"))
        .matches(QueryIdentity(canonicalText: "e\u{301}")))
  }

  /// As an index compares them: by their bytes.
  @Test func whatMatchesLiesInTheRanges() throws {
    let texts = [
      "", "[", "[]", "[1]", "[1,2]", "[10]", "[1.5]", #"["a"]"#, #"["a",1]"#, #"["a","b"]"#,
      #"["ab"]"#, #"["a"]x"#, #"["a"-"#, #"["a"^"#, "\\", "]", #"[{"Date":1}]"#,
      #"[{"Date":1},2]"#, #"["é"]"#, "[{}", "[{}]", "[{},1]", #"[{},1,"n"]"#, "[{},1.5,2]",
      #"[{},"a","n"]"#, #"[{},"a","b","n"]"#, #"[{},"ab"]"#, #"[{},{"Date":1},"n"]"#,
      #"[{},{"number":1},"n"]"#, "[{},{}]", "[{},{},1]",
    ]
    let date = Date(timeIntervalSince1970: 1)
    let paths: [QueryPath] = [[], [1], ["a"], ["a", "b"], ["é"], [date], [Place(number: 1)]]
    let marked = ["[{}]", "[{},1]"].map { QueryIdentity(canonicalText: $0) }
    let prefixes = try paths.map { try IdentityPrefix(path: $0) }
    let single = texts.map { IdentityPrefix(only: QueryIdentity(canonicalText: $0)) }
    for prefix in prefixes + marked.map({ IdentityPrefix(identity: $0) }) + single {
      let bounds = prefix.ranges.flatMap { [Array($0.lower.utf8), Array($0.upper.utf8)] }
      #expect(zip(bounds, bounds.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
      for text in texts {
        let isInside = prefix.ranges.contains { lower, upper in
          !text.utf8.lexicographicallyPrecedes(lower.utf8)
            && text.utf8.lexicographicallyPrecedes(upper.utf8)
        }
        #expect(
          isInside == prefix.matches(QueryIdentity(canonicalText: text)), "\(text) in \(bounds)")
      }
    }
  }

  private func isUnder(_ path: QueryPath, _ prefix: QueryPath) throws -> Bool {
    try IdentityPrefix(path: prefix).matches(try QueryIdentity(path: path))
  }
}

private struct Place: Hashable {
  let number: Int
}

private final class Opaque: Hashable, Sendable {
  static func == (lhs: Opaque, rhs: Opaque) -> Bool { lhs === rhs }

  func hash(into hasher: inout Hasher) {}
}
