import Foundation
import Testing

@testable import Query

@Suite("JSONQueryCoder")
struct JSONQueryCoderTests {
  @Test("Keys are sorted at every level, and slashes are not escaped")
  func sortedKeys() throws {
    let value = ["b": ["d": "x/y", "c": "z"], "a": [:]]
    #expect(try Self.text(value) == #"{"a":{},"b":{"c":"z","d":"x/y"}}"#)
  }

  @Test("Numbers that JSON does not have are strings")
  func notNumbers() throws {
    #expect(try Self.text([Double.nan, .infinity, -.infinity]) == #"["nan","inf","-inf"]"#)
  }

  @Test("A number, a string or nil may stand at the top")
  func scalars() throws {
    #expect(try Self.text(3) == "3")
    #expect(try Self.text("a") == "\"a\"")
    #expect(try Self.text(Int?.none) == "null")
    #expect(try Self.text(Double.nan) == "\"nan\"")
  }

  private static func text(_ value: some Encodable) throws -> String {
    String(decoding: try JSONQueryCoder().encode(value), as: UTF8.self)
  }

  @Test(arguments: [0, 1, -1, 10, Int.max, Int.min])
  func aWholeNumberHasTheBytesOfTheEncoder(_ number: Int) throws {
    let coder = JSONQueryCoder()
    #expect(try coder.encode(number) == JSONEncoder().encode(number))
    #expect(try coder.decode(Int.self, from: coder.encode(number)) == number)
    #expect(try coder.encode(number as Int?) == JSONEncoder().encode(number))
  }
}
