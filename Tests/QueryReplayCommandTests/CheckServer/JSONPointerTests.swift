import Foundation
import Testing

@testable import QueryReplayCommand

struct JSONPointerTests {
  private static let text = #"{"a": [{"n": 7}, [1, 2, 3]], "x/y": {"m~n": 4}, "s": "text"}"#

  @Test(arguments: [
    ("/a/0/n", 7), ("/a/1", 3), ("/a/1/2", 3), ("/x~1y/m~0n", 4), ("/a", 2), ("/s", nil),
    ("/b", nil),
    ("/a/9", nil), ("", nil), ("/a/-1", nil),
  ])
  func aPlaceIsANumberOrTheLengthOfAnArray(_ pointer: String, _ count: Int?) throws {
    let json = try JSONSerialization.jsonObject(with: Data(Self.text.utf8))
    #expect(try #require(JSONPointer(pointer)).count(in: json) == count)
  }

  @Test func whatDoesNotBeginWithASlashIsNoPointer() { #expect(JSONPointer("a") == nil) }
}
