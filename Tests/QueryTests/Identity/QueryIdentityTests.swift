import Foundation
import Testing

@testable import Query

@Suite("QueryIdentity")
struct QueryIdentityTests {
  @Test("Each vector in the file has its text")
  func vectors() throws {
    let vectors = try Vector.all
    #expect(Set(vectors.map(\.name)) == Set(vectorPaths.keys))
    for vector in vectors {
      let path = try #require(vectorPaths[vector.name])
      let text = try text(path)
      #expect(text == vector.text)
      #expect(text.utf8.elementsEqual(vector.text.utf8))
    }
  }

  @Test("The description is the text, and the text makes the identity again")
  func canonicalText() throws {
    let identity = try QueryIdentity(path: ["players", 3])
    #expect(identity.description == #"["players",3]"#)
    #expect(QueryIdentity(canonicalText: identity.text) == identity)
    #expect(QueryIdentity(canonicalText: "mine").text == "mine")
  }

  @Test("A text that is given is taken byte for byte")
  func givenText() {
    let composed = QueryIdentity(canonicalText: "\u{E9}")
    let decomposed = QueryIdentity(canonicalText: "e\u{301}")
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed, composed]).count == 2)
  }

  @Test("The identity goes by the elements, however the path was built")
  func howThePathWasBuilt() throws {
    var path = QueryPath("players")
    path.append(3)
    #expect(try QueryIdentity(path: path) == QueryIdentity(path: ["players", 3.0]))
  }

  @Test("What AnyHashable holds equal is written equal")
  func equalValues() throws {
    let groups: [[any Hashable & Sendable]] = [
      [5, Int8(5), UInt64(5), Float(5), 5.0, Float80(5), Optional(5) as Int?],
      [0, 0.0, -0.0, -Float.zero],
      [Float(0.1), Double(Float(0.1)), Float80(Float(0.1))],
      [0.1, Float80(0.1 as Double)],
      [UInt64(10_000_000_000_000_000_000), 1e19],
      ["\u{E9}", "e\u{301}"],
      ["\u{212B}", "\u{C5}", "A\u{30A}"],
      [[1], [1.0], [Optional(1)]],
      [Set([1, 2]), Set([2.0, 1.0])],
      [["a": 1], ["a": 1.0]],
      [[[1]: [Float(2)]], [[1.0]: [2]]],
    ]
    for group in groups {
      for value in group {
        #expect(AnyHashable(value) == AnyHashable(group[0]))
        #expect(try text([value]) == text([group[0]]), "\(value) of \(type(of: value))")
      }
    }
  }

  @Test("What AnyHashable holds unequal is written unequal")
  func unequalValues() throws {
    let id = UUID()
    let values: [any Hashable & Sendable] = [
      1, true, "1", "true", [1], Set([1]), [1: 1], Int128(1), Float16(1), [[1]], "null", Int?.none,
      Float(0.1), 0.1, Float80("0.1")!, Date(timeIntervalSince1970: 1), Data([1]),
      id, id.uuidString,
      Date(timeIntervalSince1970: 1).description, URL(string: "http://x/b")!, "http://x/b",
      URL(string: "b", relativeTo: URL(string: "http://x/"))!, "{\"Set\":[1]}", [1, 1], 1.5, [true],
      OneField(id: 1), OtherField(id: 1), Coded.One(id: 1), Coded.Other(id: 1), [Int](),
      "Data",
      VectorBox(value: 1), VectorBox(value: 1.0), [1][...], ContiguousArray([1]), Case.one, "one",
    ]
    for (index, left) in values.enumerated() {
      for right in values[(index + 1)...] {
        #expect(AnyHashable(left) != AnyHashable(right))
        #expect(try text([left]) != text([right]), "\(left), \(right)")
      }
    }
  }

  @Test("A present optional is written as what it wraps, also where it is not equal to that")
  func optionals() throws {
    #expect(AnyHashable(Optional("a")) != AnyHashable("a"))
    #expect(try text([Optional("a")]) == text(["a"]))
    #expect(try text([Optional(OneField(id: 1))]) == text([OneField(id: 1)]))
    #expect(try text([Int?.none]) == text([String?.none]))
  }

  @Test("Where an element ends is part of the identity")
  func elementBounds() throws {
    let paths: [QueryPath] = [
      ["ab"], ["a", "b"], ["a\",\"b"], QueryPath(element: .init(["a", "b"])),
    ]
    #expect(Set(try paths.map { try QueryIdentity(path: $0) }).count == paths.count)
  }

  @Test("The order in which a set or dictionary was filled does not matter")
  func insertionOrder() throws {
    let forwards = Set((0..<500).map { "item \($0)" })
    var backwards = Set<String>(minimumCapacity: 4096)
    for index in (0..<500).reversed() { backwards.insert("item \(index)") }
    #expect(Array(forwards) != Array(backwards))
    #expect(try text([forwards]) == text([backwards]))
    let counts = Dictionary(uniqueKeysWithValues: forwards.map { ($0, 1) })
    let countsBackwards = Dictionary(uniqueKeysWithValues: backwards.map { ($0, 1) })
    #expect(try text([counts]) == text([countsBackwards]))
  }

  @Test("A string of a megabyte, plain, escaped or to be normalised")
  func longStrings() throws {
    let plain = String(repeating: "a", count: 1 << 20)
    #expect(try text([plain]) == "[\"\(plain)\"]")
    let quotes = String(repeating: "\"", count: 1 << 20)
    #expect(try text([quotes]) == "[\"\(String(repeating: "\\\"", count: 1 << 20))\"]")
    let marks = String(repeating: "e\u{301}", count: 1 << 18)
    #expect(
      try text([marks]).utf8.elementsEqual(
        "[\"\(String(repeating: "\u{E9}", count: 1 << 18))\"]".utf8
      )
    )
  }

  @Test("An escape before a combining mark is not composed with it")
  func escapeBeforeCombiningMark() throws {
    #expect(try text(["\n\u{303}"]).utf8.elementsEqual("[\"\\n\u{303}\"]".utf8))
  }

  @Test("Strings are compared by the Unicode that the standard library knows")
  func newScalars() throws {
    let left = "\u{1611E}\u{16129}\u{16122}"
    let right = String(String.UnicodeScalarView(["\u{16122}", "\u{16122}"]))
    #expect(left == right)
    #expect(try text([left]) == text([right]))
  }

  @Test("A path without its type names tells the values of one type apart")
  func instancePath() throws {
    func instance(_ path: QueryPath) throws -> String {
      try QueryIdentity(instancePath: path).text
    }
    #expect(try instance(["players", 3]) == #"["players",3]"#)
    #expect(try instance([OneField(id: 1)]) == #"[{"id":1}]"#)
    #expect(try instance([OneField(id: 1)]) == instance([OtherField(id: 1)]))
    #expect(try instance([OneField(id: 1)]) != instance([OneField(id: 2)]))
    #expect(try instance([Coded.One(id: 1)]) == #"[{"id":1}]"#)
    #expect(try instance([Case.one]) == #"["one"]"#)
    #expect(try instance([VectorFilter.range(from: 1, to: 2)]) == #"[{"range(from:to:)":[1,2]}]"#)
    #expect(try instance([VectorBox(value: OneField(id: 1))]) == #"[{"value":{"id":1}}]"#)
    #expect(try instance([Set([OneField(id: 1)])]) == #"[{"Set":[{"id":1}]}]"#)
    #expect(try instance([Date(timeIntervalSince1970: 1)]) == #"[{"Date":1}]"#)
    #expect(try instance([[1][...]]) == "[[1]]")
  }
}

private func text(_ path: QueryPath) throws -> String {
  try QueryIdentity(path: path).text
}

private struct OneField: Hashable {
  let id: Int
}

private struct OtherField: Hashable {
  let id: Int
}

private enum Coded {
  struct One: Hashable, Codable {
    let id: Int
  }

  struct Other: Hashable, Codable {
    let id: Int
  }
}

private enum Case: Hashable {
  case one
}
