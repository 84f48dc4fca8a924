import Foundation
import Testing

@testable import cache_inspect

/// The page is whole, says what the store is, and lets nothing of the store become markup.
@Suite struct ReportPageTests {
  @Test func theTotalsAreShown() throws {
    var data = ReportSample.empty
    data.totals = .init(
      entries: 98_765, pages: 4_321, bytes: 3_277, quarantined: 17, history: 2_222, pending: 33,
      leased: 44, dead: 55)
    let html = try ReportPage.html(data)
    for value in ["98,765", "4,321", "3.2 KiB", "17", "2,222", "33", "44", "55"] {
      #expect(html.contains("<dd>\(value)</dd>"), "\(value)")
    }
  }

  @Test func theDataIsInThePageAsJSON() throws {
    let data = ReportSample.full
    let json = try Self.json(in: ReportPage.html(data))
    let entries = try #require(json["entries"] as? [[String: Any]])
    #expect(entries.map { $0["identity"] as? String } == data.entries.map(\.identity))
    #expect((json["totals"] as? [String: Int])?["bytes"] == data.totals.bytes)
    #expect((json["outbox"] as? [Any])?.count == data.outbox.count)
    #expect((json["history"] as? [Any])?.count == data.history.count)
  }

  @Test(arguments: ReportSample.hostile)
  func aHostileTextNowhereChangesTheMarkup(text: String) throws {
    let calm = Self.tags(in: try ReportPage.html(ReportSample.named("x"), nonce: "n"))
    let tags = Self.tags(in: try ReportPage.html(ReportSample.named(text), nonce: "n"))
    #expect(tags == calm)
  }

  @Test func anEmptyStoreHasAPageThatSaysSo() throws {
    let html = try ReportPage.html(ReportSample.empty)
    for sentence in [
      "The cache is empty.", "The outbox is empty.", "No row is dead.", "No mutation has ended.",
      "<dd>0 B</dd>",
    ] {
      #expect(html.contains(sentence), "\(sentence)")
    }
    #expect(!html.contains("NaN") && !html.contains("nan%"))
  }

  @Test func anEntryOfNoBytesHasABarOfNoLength() throws {
    var data = ReportSample.empty
    data.biggest = [ReportSample.entry(named: "only")]
    data.entries = data.biggest
    data.kinds = [.init(name: "query", count: 1, bytes: 0)]
    let html = try ReportPage.html(data)
    #expect(html.contains("<rect class=\"fill\" width=\"0%\""))
    #expect(html.contains("<td class=\"value\">0 B</td>"))
  }

  @Test func theSameDataMakesTheSamePage() throws {
    #expect(
      try ReportPage.html(ReportSample.full, nonce: "n")
        == ReportPage.html(ReportSample.full, nonce: "n"))
  }

  @Test func noAddressOfAnotherPlaceIsInThePage() throws {
    let html = try ReportPage.html(ReportSample.empty)
    #expect(!html.contains("://"))
    #expect(!html.contains("@import") && !html.contains("url("))
  }

  @Test func thePolicyAllowsTheOneScriptAndTheOneStyleSheet() throws {
    let page = ReportPage(data: ReportSample.empty, nonce: "abc")
    #expect(page.policy.hasPrefix("default-src 'none'; "))
    #expect(!page.policy.contains("unsafe"))
    let tags = Self.tags(in: try ReportPage.html(ReportSample.empty, nonce: "abc"))
    #expect(
      tags.filter { $0.contains("\"abc\"") } == ["<style nonce=\"abc\">", "<script nonce=\"abc\">"])
    #expect(!ReportScript.text.contains("innerHTML") && !ReportScript.text.contains("</"))
  }

  @Test func noTwoPagesHaveTheSameNonce() throws {
    #expect(try ReportPage.html(ReportSample.empty) != ReportPage.html(ReportSample.empty))
  }

  @Test func hugeTextsDoNotMakeAHugePage() throws {
    let text = String(repeating: "x", count: 1_000_000)
    let count = try ReportPage.html(ReportSample.named(text)).utf8.count
    #expect(count < 500_000)
  }

  @Test func numbersThatAreNoneDoNotEndTheReport() throws {
    var data = ReportSample.full
    data.history[0].seconds = .nan
    data.files[0].freePages = .max
    data.files[0].pageSize = .max
    #expect(try ReportPage.html(data).hasSuffix("</html>\n"))
  }
}

// MARK: - Helpers

extension ReportPageTests {
  /// The tags of a page in their order, but for those that mark an escape.
  private static func tags(in html: String) -> [String] {
    let escapes = #/<span class="escape">[^<>&"']*</span>/#
    return html.replacing(escapes, with: "").matches(of: #/<[^>]*>/#).map { String($0.output) }
  }

  /// The JSON of a page.
  private static func json(in html: String) throws -> [String: Any] {
    let block = #/<script type="application/json" id="data">(.*?)</script>/#.dotMatchesNewlines()
    let match = try #require(html.firstMatch(of: block))
    let object = try JSONSerialization.jsonObject(with: Data(match.output.1.utf8))
    return try #require(object as? [String: Any])
  }
}
