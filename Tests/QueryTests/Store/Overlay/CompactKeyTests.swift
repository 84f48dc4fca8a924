import Foundation
import Testing

@testable import Query

@Suite struct CompactKeyTests {
  @Test func theTextOfAnIdentifierIsKeptInItsBytes() {
    for _ in 0..<100 {
      let id = UUID()
      #expect(CompactKey(id.uuidString) == .identifier(id))
      #expect(CompactKey(id.uuidString).text == id.uuidString)
    }
  }

  @Test(arguments: [
    "", "key", "e621e1f8-c36c-495a-93fc-0c247a3e6e5f", "E621E1F8-C36C-495A-93FC-0C247A3E6E5",
    "E621E1F8-C36C-495A-93FC-0C247A3E6E5FF", "E621E1F8-C36C-495A-93FC-0C247A3E6E5G",
    "E621E1F8AC36C-495A-93FC-0C247A3E6E5F", "E621E1F8-C36C-495A-93FC--C247A3E6E5F",
    "E621E1F8-C36C-495A-93FC-0C247A3E6\u{e9}F",
  ])
  func anyOtherTextStaysAsItIs(_ text: String) {
    #expect(CompactKey(text) == .text(text))
    #expect(CompactKey(text).text == text)
  }
}
