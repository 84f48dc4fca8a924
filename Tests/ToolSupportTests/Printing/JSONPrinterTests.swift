import Foundation
import Testing
import ToolSupport

struct JSONPrinterTests {
  private struct Row: Codable, Hashable {
    var zeta: Int
    var alpha: String
    var date: Date
    var path = "a/b"
  }

  private let row = Row(
    zeta: 1, alpha: "\u{1b}\u{7f}\u{202e}\n\u{e0041}é",
    date: Date(timeIntervalSince1970: 1_700_000_000.5))

  @Test func anObjectIsOneLineWithSortedKeysAndEscapes() throws {
    #expect(
      try JSONPrinter().text(self.row)
        == #"{"alpha":"\u001b\u007f\u202e\n\udb40\udc41é","date":"2023-11-14T22:13:20.500000Z","#
        + #""path":"a/b","zeta":1}"#)
  }

  @Test func whatIsPrintedIsReadAsItWas() throws {
    for isPretty in [false, true] {
      let text = try JSONPrinter(isPretty: isPretty).text(self.row)
      let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
      #expect(object?["alpha"] as? String == self.row.alpha)
    }
  }
}
