import Foundation
import StorageTestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// The tools: a value is laid out without being changed, and without being made much longer.
@Suite struct PrettyJSONTests {
  private static func text(_ json: String) -> String? { PrettyJSON.text(of: Data(json.utf8)) }

  @Test func objectsAndArraysHaveALineForEachPart() {
    #expect(
      Self.text("{\"a\":[1,2.50],\"b\":{}}")
        == "{\n  \"a\": [\n    1,\n    2.50\n  ],\n  \"b\": {}\n}")
    #expect(Self.text(" [ ] ") == "[]")
  }

  @Test func aValueAloneStaysAsItIs() {
    for json in ["1", "\"a{[,:]}\\\"b\"", "null", "-1.0e5"] { #expect(Self.text(json) == json) }
  }

  @Test func whatIsNoJSONIsNone() {
    for json in ["", "{", "[}", "\"open", "]", "\u{1}", "{\"a\":", "[1", ",", ":"] {
      #expect(Self.text(json) == nil, "\(json)")
    }
    #expect(PrettyJSON.text(of: Data([0x22, 0xff, 0x22])) == nil)
  }

  @Test func nestingMakesNoDeepCallsAndNoLongText() throws {
    let depth = 100_000
    let json = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    let text = try #require(Self.text(json))
    #expect(text.utf8.count < json.utf8.count + 10_000)
  }
}
