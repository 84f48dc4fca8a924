import Foundation
import TestSupport
import Testing

@testable import Query

@Suite("CanonicalEncoder")
struct CanonicalEncoderTests {
  @Test("Sets and dictionaries are ordered before they encode themselves, at every level")
  func collections() throws {
    let value = Closure { encoder in
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(Set(["b", "a", "c"]), forKey: "set")
      try object.encode([2: "b", 1: "a"], forKey: "dictionary")
      var list = object.nestedUnkeyedContainer(forKey: "list")
      try list.encode(Set([3, 1, 2]))
      var inner = list.nestedContainer(keyedBy: Key.self)
      try inner.encode([Set([2, 1])], forKey: "sets")
      var single = object.superEncoder(forKey: "single").singleValueContainer()
      try single.encode(["z": Set([2, 1])])
    }
    #expect(
      try value.content == """
        {"dictionary":{"Dictionary":[[1,"a"],[2,"b"]]},\
        "list":[{"Set":[1,2,3]},{"sets":[{"Set":[1,2]}]}],\
        "set":{"Set":["a","b","c"]},\
        "single":{"Dictionary":[["z",{"Set":[1,2]}]]}}
        """
    )
  }

  @Test("Values of other types keep their names, and those of the language their form")
  func values() throws {
    let value = Closure { encoder in
      var list = encoder.unkeyedContainer()
      try list.encode(1.0)
      try list.encode(Float(0.1))
      try list.encode(true)
      try list.encode("e\u{301}")
      try list.encode(Int128.max)
      try list.encode(UInt128(5))
      try list.encode(Float16(0.5))
      try list.encodeNil()
      try list.encode(Int?.none)
      try list.encode(Optional(3))
      try list.encode(Date(timeIntervalSince1970: 1))
      try list.encode(Data([0]))
      try list.encode(CodedVectorQuery(tags: [], id: 1))
      try list.encode(contentsOf: [1, 2])
      try list.encode(Double.nan)
      #expect(list.count == 16)
    }
    #expect(
      try value.content == """
        [1,0.10000000149011612,true,"é",170141183460469231731687303715884105727,5,\
        {"Swift.Float16":0.5},null,null,3,{"Date":1},{"Data":"AA=="},\
        {"QueryTests.CodedVectorQuery":{"id":1,"tags":{"Set":[]}}},1,2,{"Double":"nan"}]
        """
    )
  }

  @Test("Keys are sorted by their bytes in NFC, and the last value of a key counts")
  func keys() throws {
    let value = Closure { encoder in
      var object = encoder.container(keyedBy: Key.self)
      for key in ["b", "\u{FFFD}", "\u{1F600}", "\"", "e\u{301}", "", "a\0", "a", "B"] {
        try object.encode(0, forKey: Key(key))
      }
      try object.encode(1, forKey: "\u{E9}")
      try object.encodeNil(forKey: "b")
      try object.encode(Int128(2), forKey: "i")
      try object.encode(UInt128(2), forKey: "u")
    }
    #expect(
      try value.content == """
        {"":0,"\\"":0,"B":0,"a":0,"a\\u0000":0,"b":null,"i":2,"u":2,"é":1,"\u{FFFD}":0,"😀":0}
        """
    )
  }

  @Test("Containers may be filled in any order, and asked for again")
  func anyOrder() throws {
    let value = Closure { encoder in
      var object = encoder.container(keyedBy: Key.self)
      var late = object.nestedContainer(keyedBy: Key.self, forKey: "late")
      var list = object.nestedUnkeyedContainer(forKey: "list")
      try object.encode(Set([2, 1]), forKey: "b")
      try late.encode("x", forKey: "x")
      try list.encode(1)
      var again = object.nestedContainer(keyedBy: Key.self, forKey: "late")
      try again.encode("y", forKey: "y")
      var same = encoder.container(keyedBy: Key.self)
      try same.encode(0, forKey: "a")
      try list.encode(2)
    }
    #expect(
      try value.content == #"{"a":0,"b":{"Set":[1,2]},"late":{"x":"x","y":"y"},"list":[1,2]}"#
    )
  }

  @Test("Super encoders have the key that they are given, or `super`, or the next place")
  func superEncoders() throws {
    let value = Closure { encoder in
      var object = encoder.container(keyedBy: Key.self)
      var first = object.superEncoder().unkeyedContainer()
      try first.encode(1)
      try first.superEncoder().singleValueContainer().encodeNilOnce()
      var second = first.nestedUnkeyedContainer()
      try second.encode(2)
      try object.superEncoder(forKey: "own").singleValueContainer().encodeNilOnce()
      _ = object.superEncoder(forKey: "unused")
    }
    #expect(try value.content == #"{"own":null,"super":[1,null,[2]],"unused":{}}"#)
  }

  @Test("A value that encodes nothing has an empty content")
  func nothing() throws {
    #expect(try Closure { _ in }.content == "{}")
  }

  @Test("The coding path tells the way, and there is no user information")
  func codingPath() throws {
    let value = Closure { encoder in
      #expect(encoder.codingPath.isEmpty)
      #expect(encoder.userInfo.isEmpty)
      var object = encoder.container(keyedBy: Key.self)
      var list = object.nestedUnkeyedContainer(forKey: "list")
      try list.encode(1)
      let inner = list.superEncoder()
      #expect(inner.codingPath.map(\.stringValue) == ["list", "Index 1"])
      #expect(inner.codingPath.map(\.intValue) == [nil, 1])
      #expect(inner.singleValueContainer().codingPath.count == 2)
      #expect(list.codingPath.map(\.stringValue) == ["list"])
      #expect(object.codingPath.isEmpty)
    }
    #expect(try value.content == #"{"list":[1,{}]}"#)
  }

  @Test("A value that a type leaves out because it cannot be written leaves nothing behind")
  func caughtRefusal() throws {
    let value = Closure { encoder in
      var object = encoder.container(keyedBy: Key.self)
      #expect(throws: (any Error).self) {
        try object.encode([Closure { _ in throw TestError() }], forKey: "a")
      }
      try object.encode(1, forKey: "b")
    }
    #expect(try value.content == #"{"b":1}"#)
  }

  @Test(
    "Misuse of an encoder is not representable, and does not crash",
    arguments: Misuse.allCases
  )
  func misuse(_ misuse: Misuse) {
    #expect(throws: QueryIdentityError.self) { try Closure(misuse.encode).content }
  }

  @Test("A container that outlives its encode(to:) changes nothing")
  func escapedContainer() throws {
    let box = CodedBox()
    let value = Closure { encoder in
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(1, forKey: "a")
      box.container = object
    }
    #expect(try value.content == #"{"a":1}"#)
    #expect(throws: (any Error).self) { try box.container?.encode(2, forKey: "b") }
    #expect(try value.content == #"{"a":1}"#)
  }

  @Test("Nothing of an encoding is left when it is over, however deep its containers are")
  func released() throws {
    let weakSession = WeakSession()
    let value = Closure { encoder in
      var object = encoder.container(keyedBy: Key.self)
      var list = object.nestedUnkeyedContainer(forKey: "list")
      var inner = list.nestedContainer(keyedBy: Key.self)
      try inner.encode(1, forKey: "a")
      weakSession.session = (encoder as? CanonicalEncoder)?.node.session
      #expect(weakSession.session != nil)
    }
    #expect(try value.content == #"{"list":[{"a":1}]}"#)
    #expect(weakSession.session == nil)
  }
}

// Safe to share: used by one test at a time, on one thread.
private final class WeakSession: @unchecked Sendable {
  weak var session: EncodingSession?
}

enum Misuse: CaseIterable {
  case listThenObject
  case objectThenSingle
  case singleTwice
  case outerContainerInside

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .listThenObject:
      _ = encoder.unkeyedContainer()
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(1, forKey: "a")
    case .objectThenSingle:
      _ = encoder.container(keyedBy: Key.self)
      var single = encoder.singleValueContainer()
      try single.encode(1)
    case .singleTwice:
      var single = encoder.singleValueContainer()
      try single.encode(1)
      try single.encode(2)
    case .outerContainerInside:
      let box = CodedBox()
      var list = encoder.container(keyedBy: Key.self)
      box.container = list
      try list.encode(
        Closure { _ in try? box.container?.encode(1, forKey: "inside") },
        forKey: "a"
      )
    }
  }
}

// Safe to share: used by one test at a time, on one thread.
private final class CodedBox: @unchecked Sendable {
  var container: KeyedEncodingContainer<Key>?
}

/// A value whose coding is a closure.
private struct Closure: Hashable, Encodable, Sendable {
  let body: @Sendable (any Encoder) throws -> Void

  init(_ body: @escaping @Sendable (any Encoder) throws -> Void) { self.body = body }

  static func == (lhs: Self, rhs: Self) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
  func encode(to encoder: any Encoder) throws { try self.body(encoder) }

  /// What it encodes, without the array and the type's name around it.
  var content: String {
    get throws {
      let text = try QueryIdentity(path: QueryPath(element: .init(self))).text
      let header = "[{\"QueryTests.Closure\":"
      #expect(text.hasPrefix(header))
      return String(text.dropFirst(header.count).dropLast(2))
    }
  }
}

private struct Key: CodingKey, ExpressibleByStringLiteral {
  let stringValue: String
  let intValue: Int? = nil

  init(_ name: String) { self.stringValue = name }
  init(stringLiteral value: String) { self.stringValue = value }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension SingleValueEncodingContainer {
  fileprivate func encodeNilOnce() throws {
    var copy = self
    try copy.encodeNil()
  }
}
