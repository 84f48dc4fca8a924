import Foundation
import Testing

@testable import Query

/// What every coder promises.
@Suite("QueryCoder")
struct QueryCoderTests {
  static let coders: [any QueryCoder] = [.json, .propertyList]

  @Test("The names that are stored")
  func names() {
    let coder: any QueryCoder = .json
    #expect(coder.name == "json")
    #expect(Self.coders.map(\.name) == ["json", "propertyList"])
  }

  @Test("Values come back as they were", arguments: [0, 1])
  func values(_ index: Int) throws {
    let coder = Self.coders[index]
    func roundTrip<Value: Codable & Equatable>(_ value: Value) throws {
      #expect(try coder.decode(Value.self, from: coder.encode(value)) == value)
      #expect(try coder.decode(Value?.self, from: coder.encode(Optional(value))) == value)
      #expect(try coder.decode([Value].self, from: coder.encode([value])) == [value])
    }
    try roundTrip(Everything())
    try roundTrip(3)
    try roundTrip(Int.min)
    try roundTrip(UInt64.max)
    try roundTrip(0.1)
    try roundTrip(Float(0.1))
    try roundTrip(Double.infinity)
    try roundTrip(-Double.infinity)
    try roundTrip(true)
    try roundTrip("")
    try roundTrip("a\0\"\u{1F600}")
    try roundTrip(Date(timeIntervalSinceReferenceDate: 123_456_789.123_456_7))
    try roundTrip(Data([0, 255]))
    try roundTrip(URL(string: "https://example.com/a?b=c")!)
    try roundTrip(UUID())
    try roundTrip([String: Int]())
    try roundTrip([Int]())
    try roundTrip(Set(["a", "b"]))
    try roundTrip(["query.values": 1])
    try roundTrip(Kind.second)
  }

  @Test("Nil at the top comes back as nil, also of a type that could be empty", arguments: [0, 1])
  func absentValues(_ index: Int) throws {
    let coder = Self.coders[index]
    #expect(try coder.decode(Int?.self, from: coder.encode(Int?.none)) == nil)
    #expect(try coder.decode(String?.self, from: coder.encode(String?.none)) == nil)
    #expect(try coder.decode([String]?.self, from: coder.encode([String]?.none)) == nil)
    #expect(try coder.decode(AllAbsent?.self, from: coder.encode(AllAbsent?.none)) == nil)
    #expect(try coder.decode(AllAbsent?.self, from: coder.encode(AllAbsent())) == AllAbsent())
  }

  @Test("What is not a number comes back so", arguments: [0, 1])
  func notANumber(_ index: Int) throws {
    let coder = Self.coders[index]
    #expect(try coder.decode(Double.self, from: coder.encode(Double.nan)).isNaN)
    #expect(try coder.decode([Float].self, from: coder.encode([Float.nan]))[0].isNaN)
  }

  @Test("Bytes of another form, cut off or empty, throw", arguments: [0, 1])
  func foreignBytes(_ index: Int) throws {
    let coder = Self.coders[index]
    let data = try coder.encode(Everything())
    let other = try Self.coders[1 - index].encode([1])
    for bytes in [Data(), Data([1, 2, 3]), data.dropLast(5), other] {
      #expect(throws: (any Error).self) { try coder.decode(Everything.self, from: bytes) }
    }
    #expect(throws: DecodingError.self) { try coder.decode(Int.self, from: data) }
  }

  @Test("One coder serves all threads", arguments: [0, 1])
  func threads(_ index: Int) async throws {
    let value = Everything()
    let isEqual = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<100 {
        group.addTask { @Sendable in
          let coder = Self.coders[index]
          return try coder.decode(Everything.self, from: coder.encode(value)) == value
        }
      }
      return try await group.reduce(true) { $0 && $1 }
    }
    #expect(isEqual)
  }

  @Test("An encode(to:) that throws makes the coder throw", arguments: [0, 1])
  func throwing(_ index: Int) {
    #expect(throws: (any Error).self) { try Self.coders[index].encode(Throwing()) }
  }
}

private struct Everything: Codable, Equatable {
  var name = "é"
  var count = 3
  var ratio = 0.25
  var missing: Int?
  var tags = ["b", "a"]
  var byName = ["z": 1, "a": 2]
  var date = Date(timeIntervalSinceReferenceDate: 0.1)
  var data = Data([1])
  var url = URL(string: "https://example.com")!
}

private struct AllAbsent: Codable, Equatable {
  var first: Int?
  var second: String?
}

private enum Kind: String, Codable {
  case first
  case second
}

private struct Throwing: Encodable {
  func encode(to encoder: any Encoder) throws { throw CocoaError(.fileNoSuchFile) }
}
