import Foundation
import Testing

@testable import Query

@Suite("CanonicalForm")
struct CanonicalFormTests {
  @Test("Properties are written in the order of their names' bytes")
  func propertyOrder() throws {
    let content = #"{"_z":4,"a":1,"aB":2,"aa":3}"#
    #expect(try contentText(Order(a: 1, aa: 3, aB: 2, _z: 4)) == content)
  }

  @Test("A structure without properties and size has an empty content")
  func emptyStructure() throws {
    #expect(try contentText(Empty()) == "{}")
  }

  @Test("Properties of every kind that can be written are")
  func propertiesOfEveryKind() throws {
    let value = Mixed(
      optional: .some(.some(3)),
      tuple: (1, "a"),
      inner: VectorQuery(page: 1, name: "n", id: 2),
      any: 4.0,
      anyOptional: "x",
      hashable: AnyHashable(Set([2, 1])),
      nothing: ()
    )
    #expect(
      try contentText(value) == """
        {"any":4,"anyOptional":"x","hashable":{"Set":[1,2]},\
        "inner":{"QueryTests.VectorQuery":{"id":2,"name":"n","page":1}},\
        "nothing":[],"optional":3,"tuple":[1,"a"]}
        """
    )
  }

  @Test("A weak, unowned or strong reference to an encodable instance is written as its content")
  func references() throws {
    let node = EncodableNode(name: "n")
    let text = #"{"QueryTests.EncodableNode":{"name":"n"}}"#
    let value = References(strong: node, unowned: node, weak: node, optional: nil)
    #expect(
      try contentText(value)
        == #"{"optional":null,"strong":\#(text),"unowned":\#(text),"weak":\#(text)}"#
    )
  }

  @Test("An instance of a subclass has the subclass's name")
  func subclass() throws {
    #expect(
      try QueryIdentity(path: [EncodableNode.Sub(name: "n", depth: 2) as EncodableNode]).text
        == #"[{"QueryTests.EncodableNode.Sub":{"depth":2,"super":{"name":"n"}}}]"#
    )
  }

  @Test("A case's name comes from the metadata, not from a description or a raw value")
  func caseNames() throws {
    #expect(try contentText(Raw.first) == "\"first\"")
    #expect(try contentText(VectorFilter.all) == "\"all\"")
    #expect(try contentText(Payload.none) == "\"none\"")
    #expect(try contentText(Payload.one(nil)) == #"{"one":null}"#)
    #expect(try contentText(Payload.labelled(x: 5)) == #"{"labelled(x:)":[5]}"#)
    #expect(try contentText(Payload.two(1, "a")) == #"{"two":[1,"a"]}"#)
    #expect(try contentText(Payload.empty(())) == #"{"empty":[]}"#)
    #expect(
      try contentText(Payload.indirect(.two(1, "b")))
        == #"{"indirect":{"\#(QualifiedTypeName.of(Payload.self))":{"two":[1,"b"]}}}"#
    )
    #expect(try contentText(Single.only) == "\"only\"")
  }

  @Test("Cases of one name are told apart by their labels")
  func caseLabels() throws {
    #expect(try contentText(Labelled.by(author: 1)) == #"{"by(author:)":[1]}"#)
    #expect(try contentText(Labelled.by(tag: 1)) == #"{"by(tag:)":[1]}"#)
    #expect(try contentText(Labelled.by(1, tag: 2)) == #"{"by(_:tag:)":[1,2]}"#)
    #expect(try contentText(Labelled.by(author: 1, tag: 2)) == #"{"by(author:tag:)":[1,2]}"#)
  }

  @Test("An absent optional is told from one that is there and absent inside")
  func nestedOptionals() throws {
    func text(_ value: any Hashable & Sendable) throws -> String {
      try QueryIdentity(path: QueryPath([value])).text
    }
    #expect(try text(Int??.some(.none)) == "[null]")
    #expect(try text(Int??.none) == #"[{"Optional":null}]"#)
    #expect(try text(Int???.none) == #"[{"Optional":{"Optional":null}}]"#)
    #expect(try text(Int???.some(.none)) == #"[{"Optional":null}]"#)
    #expect(try text(Int???.some(.some(3))) == "[3]")
  }

  @Test("Dates that differ have different texts")
  func closeDates() throws {
    let date = Date(timeIntervalSinceReferenceDate: 700_000_000.25)
    let next = Date(timeIntervalSinceReferenceDate: 700_000_000.25.nextUp)
    #expect(try QueryIdentity(path: [date]).text == #"[{"Date":1678307200.25}]"#)
    #expect(try QueryIdentity(path: [date]) != QueryIdentity(path: [next]))
    #expect(try QueryIdentity(path: [next]).text == #"[{"Date":{"since2001":700000000.2500001}}]"#)
  }

  @Test("Each form is made once and serves all threads")
  func threads() async throws {
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for index in 0..<64 {
        group.addTask { @Sendable in
          try QueryIdentity(path: [VectorBox(value: VectorBox(value: Set(["a"]))), index % 2]).text
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(texts.count == 2)
  }
}

/// The text of a value without the array and the type's name around it.
private func contentText<Value: Hashable & Sendable>(_ value: Value) throws -> String {
  let text = try QueryIdentity(path: QueryPath(element: .init(value))).text
  let header = "[{\"\(QualifiedTypeName.of(Value.self))\":"
  #expect(text.hasPrefix(header))
  #expect(text.hasSuffix("}]"))
  return String(text.dropFirst(header.count).dropLast(2))
}

private struct Order: Hashable {
  let a: Int
  let aa: Int
  let aB: Int
  let _z: Int
}

private struct Empty: Hashable {}

// Safe to share: the closures and dynamic values in it are never changed.
private struct Mixed: Hashable, @unchecked Sendable {
  let optional: Int??
  let tuple: (Int, String)
  let inner: VectorQuery
  let any: any Hashable
  let anyOptional: (any Hashable)?
  let hashable: AnyHashable
  let nothing: Void

  static func == (lhs: Self, rhs: Self) -> Bool { lhs.inner == rhs.inner }
  func hash(into hasher: inout Hasher) { hasher.combine(self.inner) }
}

private enum Raw: String, Hashable {
  case first = "1st"
}

private enum Single: Hashable {
  case only
}

private enum Labelled: Hashable, Sendable {
  case by(author: Int)
  case by(tag: Int)
  case by(Int, tag: Int)
  case by(author: Int, tag: Int)
}

private indirect enum Payload: Hashable, Sendable {
  case none
  case one(Int?)
  case labelled(x: Int)
  case two(Int, String)
  case empty(Void)
  case indirect(Payload)

  static func == (lhs: Self, rhs: Self) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}

// Safe to share: nothing in it changes.
class EncodableNode: Hashable, Encodable, @unchecked Sendable {
  let name: String

  init(name: String) { self.name = name }

  static func == (lhs: EncodableNode, rhs: EncodableNode) -> Bool { lhs.name == rhs.name }
  func hash(into hasher: inout Hasher) { hasher.combine(self.name) }

  // As its superclass.
  final class Sub: EncodableNode, @unchecked Sendable {
    private enum CodingKeys: String, CodingKey {
      case depth
    }

    let depth: Int

    init(name: String, depth: Int) {
      self.depth = depth
      super.init(name: name)
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(self.depth, forKey: .depth)
      try super.encode(to: container.superEncoder())
    }
  }
}

// Safe to share: the test that makes it is the only one that has it.
private struct References: Hashable, @unchecked Sendable {
  let strong: EncodableNode
  unowned let unowned: EncodableNode
  weak var weak: EncodableNode?
  let optional: EncodableNode?

  static func == (lhs: Self, rhs: Self) -> Bool { lhs.strong == rhs.strong }
  func hash(into hasher: inout Hasher) { hasher.combine(self.strong) }
}
