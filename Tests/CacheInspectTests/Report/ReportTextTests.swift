import Foundation
import Testing

@testable import cache_inspect

/// What a store holds is text in the page, whole, seen, and of a bounded length.
@Suite struct ReportTextTests {
  @Test(arguments: ReportSample.hostile) func noTextIsMarkup(text: String) {
    let escapes = #/<span class="escape">[^<>&"']*</span>/#
    let rest = ReportText.html(text).replacing(escapes, with: "")
    #expect(!rest.contains { "<>\"'".contains($0) })
  }

  @Test func everyCharacterOfMarkupHasItsEntity() {
    #expect(ReportText.html("a<b>&\"c'") == "a&lt;b&gt;&amp;&quot;c&#39;")
  }

  @Test(arguments: [
    ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\r\n", "\\r|\\n"), ("\u{0}", "\\u{0}"),
    ("\u{1B}", "\\u{1B}"), ("\u{7F}", "\\u{7F}"), ("\u{85}", "\\u{85}"), ("\u{202E}", "\\u{202E}"),
    ("\u{2028}", "\\u{2028}"), ("\u{200B}", "\\u{200B}"), ("\u{FEFF}", "\\u{FEFF}"),
    ("\u{E0041}", "\\u{E0041}"),
  ])
  func whatIsNotSeenStandsAsAMarkedEscape(text: String, escape: String) {
    let marks = escape.split(separator: "|").map { "<span class=\"escape\">\($0)</span>" }
    #expect(ReportText.html("a\(text)") == "a" + marks.joined())
  }

  @Test func lettersOfAllScriptsAndEmojiStayAsTheyAre() {
    let text = "naïve 日本語 עברית नमस्ते 👩‍👩‍👧 a\u{301}"
    #expect(ReportText.html(text) == text)
  }

  @Test(arguments: ReportSample.hostile) func jsonInAScriptIsTheSameDataWithoutMarkup(text: String)
    throws
  {
    let json = try JSONEncoder().encode([text])
    let script = ReportText.scriptData(String(decoding: json, as: UTF8.self))
    #expect(!script.unicodeScalars.contains { "<>&\u{2028}\u{2029}".unicodeScalars.contains($0) })
    #expect(try JSONDecoder().decode([String].self, from: Data(script.utf8)) == [text])
  }

  @Test func aTextOfTheLimitIsWholeAndALongerOneSaysHowMuchIsMissing() {
    let limit = ReportText.maximumCharacters
    let text = String(repeating: "x", count: limit)
    #expect(ReportText.shortened(text) == text)
    let longer = ReportText.shortened(text + "y")
    #expect(longer == "\(text)… (1 more characters)")
    let marks = "a" + String(repeating: "\u{301}", count: 1_000_000)
    let count = ReportText.shortened(marks).unicodeScalars.count
    #expect(count < limit + 40)
  }
}
