import Foundation
import TestSupport
import Testing

@testable import Query

@Suite("QueryIdentityError")
struct QueryIdentityErrorTests {
  @Test("Each kind of value without a text of its own is refused by its type's name")
  func refusals() {
    var pointee = 0
    withUnsafeMutablePointer(to: &pointee) { pointer in
      let refusals: [(any Hashable, String)] = [
        (Instance(), "QueryTests.Instance"),
        (Holder(value: Instance()), "QueryTests.Instance"),
        (Holder(value: { @Sendable () -> Void in }), "@Sendable () -> ()"),
        (Holder(value: Optional { @Sendable () -> Void in }), "@Sendable () -> ()"),
        (Holder(value: Int.self), "Swift.Int.Type"),
        (Holder(value: Int.self as Any.Type), "Any.Type"),
        (ObjectIdentifier(Instance.self), "Swift.ObjectIdentifier"),
        (UnsafePointer(pointer), "Swift.UnsafePointer<Swift.Int>"),
        (pointer, "Swift.UnsafeMutablePointer<Swift.Int>"),
        (UnsafeRawPointer(pointer), "Swift.UnsafeRawPointer"),
        (OpaquePointer(pointer), "Swift.OpaquePointer"),
        (ActorQuery().id, "Swift.ObjectIdentifier"),
        (Mirrored(id: 1), "QueryTests.Mirrored"),
        (Substring("a"), "Swift.Substring"),
        (Throwing(), "QueryTests.Throwing"),
        (Holder(value: Throwing()), "QueryTests.Throwing"),
        (\String.count as KeyPath<String, Int>, "Swift.AnyKeyPath"),
        ([Instance()], "QueryTests.Instance"),
        (Set([ObjectIdentifier(Instance.self)]), "Swift.ObjectIdentifier"),
        ([1: Mirrored(id: 1)], "QueryTests.Mirrored"),
        (Optional(Mirrored(id: 1)), "QueryTests.Mirrored"),
        (Sum.mirrored(Mirrored(id: 1)), "QueryTests.Mirrored"),
        (AnyHashable([AnyHashable(Instance())]), "QueryTests.Instance"),
        (Wrapping(value: Throwing()), "QueryTests.Throwing"),
      ]
      for (value, type) in refusals {
        let element = QueryPath.Element(Self.sendable(value))
        #expect(throws: QueryIdentityError.notRepresentable(element: element, type: type)) {
          try QueryIdentity(path: QueryPath(elements: [.init("a"), element]))
        }
      }
    }
  }

  @Test("A structure that stores what reflection does not show is refused")
  func hiddenProperties() throws {
    // A union of C is the structure without properties to see that every Linux has.
    let value = HoldsUnion()
    #expect(throws: QueryIdentityError.self) { try QueryIdentity(path: [value]) }
  }

  @Test("A refusal is the same every time")
  func repeated() {
    for _ in 0..<3 {
      #expect(throws: QueryIdentityError.self) { try QueryIdentity(path: [Mirrored(id: 1)]) }
    }
  }

  @Test("The description names the type and the way out")
  func description() {
    let inside = QueryIdentityError.notRepresentable(
      element: .init([Mirrored(id: 1)]),
      type: "QueryTests.Mirrored"
    )
    #expect(
      inside.description == """
        A value of type QueryTests.Mirrored, in a path element of type \
        Swift.Array<QueryTests.Mirrored>, has no identity that is the same on every launch. \
        Conform QueryTests.Mirrored to Codable, with an encode(to:) that neither throws nor nests \
        more than 128 values, or give the query an identity with PersistenceOptions(identity:).
        """
    )
    let whole = QueryIdentityError.notRepresentable(
      element: .init(Mirrored(id: 1)),
      type: "QueryTests.Mirrored"
    )
    #expect(whole.description.contains("QueryTests.Mirrored, in a path element, has"))
  }

  @Test("128 values inside one another are written, 129 are not", arguments: Nesting.allCases)
  func depth(_ nesting: Nesting) throws {
    let deepest = QueryPath.Element(Self.sendable(nesting.make(128)))
    let tooDeep = QueryPath.Element(Self.sendable(nesting.make(129)))
    let text = try QueryIdentity(path: QueryPath(element: deepest)).text
    #expect(text.count(where: { $0 == "9" }) == 1)
    #expect(throws: QueryIdentityError.self) {
      try QueryIdentity(path: QueryPath(element: tooDeep))
    }
    #expect(try QueryIdentity(path: QueryPath(element: deepest)).text == text)
  }

  /// Tests build values whose types cannot be known to be sendable.
  private static func sendable<Value: Hashable>(_ value: Value) -> any Hashable & Sendable {
    AnySendable(value).base
  }
}

/// Ways in which values stand inside one another.
enum Nesting: CaseIterable {
  case arrays
  case sets
  case dictionaries
  case enumerations
  case codedStructures
  case nestedContainers

  func make(_ depth: Int) -> any Hashable {
    switch self {
    case .arrays: (0..<depth).reduce(AnyHashable(9)) { value, _ in AnyHashable([value]) }
    // Each structure and each collection in it is one value.
    case .sets:
      (0..<(depth - 1) / 2).reduce(SetChain(value: 9)) { value, _ in SetChain(next: [value]) }
    case .dictionaries:
      (0..<(depth - 1) / 2).reduce(DictionaryChain(value: 9)) { value, _ in
        DictionaryChain(next: [0: value])
      }
    case .enumerations: (1..<depth).reduce(Chain.end(9)) { value, _ in .link(value) }
    case .codedStructures: (1..<depth).reduce(CodedChain(value: 9)) { value, _ in value.link }
    case .nestedContainers: Containers(depth: depth)
    }
  }
}

private indirect enum Chain: Hashable {
  case end(Int)
  case link(Chain)
}

private struct SetChain: Hashable {
  var value: Int?
  var next: Set<SetChain>?

  // A set in a set is hashed anew at every level.
  func hash(into hasher: inout Hasher) {}
}

private struct DictionaryChain: Hashable {
  var value: Int?
  var next: [Int: DictionaryChain]?
}

private struct CodedChain: Hashable, Codable {
  var value: Int?
  var next: [CodedChain]?

  /// Encoded as a value alone, not in an array, which would count too.
  var link: CodedChain { CodedChain(next: [self]) }

  init(value: Int? = nil, next: [CodedChain]? = nil) {
    self.value = value
    self.next = next
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let next = self.next?.first {
      try container.encode(next)
    } else {
      try container.encode(self.value)
    }
  }
}

private struct Containers: Hashable, Encodable {
  let depth: Int

  func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for _ in 1..<self.depth {
      var inner = container.nestedUnkeyedContainer()
      swap(&inner, &container)
    }
    try container.encode(9)
  }
}

private struct AnySendable {
  let base: any Hashable & Sendable

  init<Value: Hashable>(_ value: Value) {
    // `Sendable` leaves no trace at run time, and the tests share none of these values.
    self.base = unsafeBitCast(value as any Hashable, to: (any Hashable & Sendable).self)
  }
}

private final class Instance: Hashable {
  static func == (lhs: Instance, rhs: Instance) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}

private actor ActorQuery: Identifiable {}

/// A value that equality ignores.
private struct Holder<Value>: Hashable {
  let value: Value

  static func == (lhs: Self, rhs: Self) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}

private struct Mirrored: Hashable, CustomReflectable {
  let id: Int

  var customMirror: Mirror { Mirror(self, children: [:]) }
}

private struct Throwing: Hashable, Encodable {
  func encode(to encoder: any Encoder) throws { throw TestError() }
}

private struct Wrapping<Value: Hashable & Encodable>: Hashable, Encodable {
  let value: Value
}

private enum Sum: Hashable {
  case mirrored(Mirrored)
}

private struct HoldsUnion: Hashable {
  private let value = sigval()

  static func == (lhs: Self, rhs: Self) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}
