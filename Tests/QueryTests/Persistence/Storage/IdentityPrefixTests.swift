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
}
