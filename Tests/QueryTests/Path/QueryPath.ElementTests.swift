import Query
import Testing

private struct Place: Hashable { let name: String }

// @unchecked: a class with a subclass, whose variable is a constant.
private class Animal: Hashable, @unchecked Sendable {
  let legs: Int

  init(legs: Int) { self.legs = legs }

  static func == (lhs: Animal, rhs: Animal) -> Bool { lhs.legs == rhs.legs }
  func hash(into hasher: inout Hasher) { hasher.combine(self.legs) }
}

// @unchecked: as its superclass.
private final class Dog: Animal, @unchecked Sendable {}

@Suite struct QueryPathElementTests {
  @Test func equalityAndHashAreThoseOfAnyHashable() {
    let values: [any Hashable & Sendable] = [
      1, 1.0, UInt8(1), true, "a", Substring("a"), "b", [1], [1.0], Int?.some(1), Int?.none, 2,
      -1, Int8(-1), -1.0, Int.max, Int64.max, UInt64(Int.max), UInt64.max, Int.min, 0, -0.0,
      Double(Int.min), "", "1", String?.some("a"), String??.some("a"), "\u{E9}", "e\u{301}",
      Int??.some(2), Int??.some(nil), Double.nan, Place(name: "a"), Place(name: "a"),
      Place?.some(Place(name: "a")), Place(name: "b"), Animal(legs: 4), Animal(legs: 4),
      Dog(legs: 4), Dog(legs: 4), Dog(legs: 3),
    ]
    for lhs in values {
      for rhs in values {
        let areEqual = AnyHashable(lhs) == AnyHashable(rhs)
        #expect((QueryPath.Element(lhs) == QueryPath.Element(rhs)) == areEqual)
        if areEqual {
          #expect(QueryPath.Element(lhs).hashValue == QueryPath.Element(rhs).hashValue)
        }
      }
    }
    #expect(QueryPath.Element(1) == QueryPath.Element(1.0))
    #expect(QueryPath.Element(1) != QueryPath.Element(true))
  }

  @Test func baseIsTheValue() {
    #expect(QueryPath.Element("a").base as? String == "a")
    #expect(type(of: QueryPath.Element(1.0).base) == Double.self)
    #expect(type(of: QueryPath.Element([1, 2]).base) == [Int].self)
    #expect(QueryPath.Element(Int?.none).base as? Int? == .some(nil))
  }

  @Test func baseOfAnOptionalWithAValueIsTheValue() {
    let optional: Int? = 3
    #expect(type(of: QueryPath.Element(optional).base) == Int.self)
  }

  @Test func descriptionQuotesTextOnly() {
    #expect(QueryPath.Element("a").description == "\"a\"")
    #expect(QueryPath.Element(Substring("a")).description == "\"a\"")
    #expect(QueryPath.Element(1).description == "1")
    #expect(QueryPath.Element(1.5).description == "1.5")
    #expect(QueryPath.Element(Character("a")).description == "a")
    #expect(QueryPath.Element(["hello", "blob"]).description == "[\"hello\", \"blob\"]")
  }
}
