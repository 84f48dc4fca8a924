import Foundation
import Testing

@testable import cache_inspect

/// The report works in a browser: without the network, by the keyboard, on small and large screens,
/// in light and dark, and nothing of the store runs in it.
@Suite(
  .serialized, .enabled(if: Browser.path != nil, "no Chromium here; Tools/setup --browser gets it"))
struct ReportBrowserTests {
  @Test func thePageShowsTheDataAndAsksForNothing() async throws {
    let data = ReportSample.full
    let browser = try await Self.browser(showing: data)
    let rows: Int = try await browser.value("document.querySelectorAll('#entries tbody tr').length")
    #expect(rows == 25)
    let tiles: [String] = try await browser.value(
      "[...document.querySelectorAll('.tile')].map((t) => t.innerText)")
    let totals = data.totals
    let expected: [(String, String)] = [
      ("Entries", "1,234"), ("Pages", "345"), ("Size", ReportMeasure.size(totals.bytes)),
      ("Quarantined", "3"), ("Pending", "\(totals.pending)"), ("Leased", "1"),
      ("Dead", "\(totals.dead)"), ("History", "240"),
    ]
    #expect(tiles == expected.map { "\($0)\n\($1)" })
    let dead: Int = try await browser.value(
      "document.querySelectorAll('#dead-table tbody tr').length")
    #expect(dead == totals.dead)
    try await Self.expectQuiet(browser)
  }

  @Test func nothingOfTheStoreRuns() async throws {
    let browser = try await Self.browser(showing: ReportSample.full)
    let owned: Bool = try await browser.value("'owned' in window")
    #expect(!owned)
    let foreign: Int = try await browser.value(
      "document.querySelectorAll('img, iframe, object, body script:not([id])').length")
    #expect(foreign == 1, "the page's own script")
    for text in ReportSample.hostile.prefix(5) {
      let cells = try await Self.entries(in: browser, column: 0)
      #expect(cells.contains(text))
    }
    let escapes: [String] = try await browser.value(
      "[...document.querySelectorAll('#entries .escape')].map((e) => e.textContent)")
    #expect(
      escapes == ["\\n", "\\u{0}", "\\u{1B}", "\\u{7F}", "\\u{202E}", "\\u{2028}", "\\u{FEFF}"])
    try await Self.expectQuiet(browser)
  }

  @Test func thePolicyStopsWhatIsNotThePagesOwn() async throws {
    let html = try ReportPage.html(ReportSample.full).replacing(
      "<main>", with: "<script>window.owned=1</script><img src=\"http://127.0.0.1:9/x\"><main>")
    let browser = try await Browser(#require(Browser.path))
    try await browser.show(html)
    let owned: Bool = try await browser.value("'owned' in window")
    #expect(!owned)
    #expect(browser.complaints.contains { $0.contains("Content Security Policy") })
  }

  @Test func typingIntoTheSearchFieldFiltersTheTable() async throws {
    let data = ReportSample.full
    let browser = try await Self.browser(showing: data)
    let _: Bool = try await browser.value(
      "document.querySelector('#entries input').focus() ?? true")
    try await browser.type("F12 infinite")
    let expected = data.entries.filter {
      $0.identity.contains("f12\"") && $0.kind == "infinite"
    }
    #expect(!expected.isEmpty)
    #expect(try await Self.entries(in: browser, column: 0) == expected.map(\.identity))
    let status: String = try await browser.value(
      "document.querySelector('#entries [role=status]').textContent")
    #expect(status == "\(expected.count) of 1,234 rows")
    try await browser.type("no such thing")
    #expect(try await Self.entries(in: browser, column: 0).isEmpty)
    try await Self.expectQuiet(browser)
  }

  @Test func aHeadingSortsItsTableByTheKeyboard() async throws {
    let data = ReportSample.full
    let browser = try await Self.browser(showing: data)
    let focus = "document.querySelectorAll('#entries th button')[1].focus() ?? true"
    let _: Bool = try await browser.value(focus)
    for (order, isDescending) in [("descending", true), ("ascending", false)] {
      try await browser.press("Enter", code: 13, text: "\r")
      let sizes = data.entries.map(\.bytes).sorted { isDescending ? $0 > $1 : $0 < $1 }
      let expected = sizes.prefix(25).map(ReportMeasure.size)
      #expect(try await Self.entries(in: browser, column: 1) == expected)
      let shown: String = try await browser.value(
        "document.querySelectorAll('#entries th')[1].getAttribute('aria-sort')")
      #expect(shown == order)
    }
    try await Self.expectQuiet(browser)
  }

  @Test func whatHasNoValueIsSortedLastInBothDirections() async throws {
    var data = ReportSample.full
    data.entries = Array(data.entries[30..<50])
    let browser = try await Self.browser(showing: data)
    for _ in 0..<2 {
      let _: Bool = try await browser.value(
        "document.querySelectorAll('#entries th button')[2].click() ?? true")
      let ages = try await Self.entries(in: browser, column: 2)
      #expect(ages.count == 20)
      #expect(ages.last == "–")
      #expect(ages.dropLast().allSatisfy { $0.hasSuffix(" ago") })
    }
  }

  @Test func theButtonShowsTheOtherRows() async throws {
    let browser = try await Self.browser(showing: ReportSample.full)
    let click = "document.querySelector('#history-table .more').click() ?? true"
    for count in [125, 225, 240] {
      let _: Bool = try await browser.value(click)
      let rows: Int = try await browser.value(
        "document.querySelectorAll('#history-table tbody tr').length")
      #expect(rows == count)
    }
    let isHidden: Bool = try await browser.value(
      "document.querySelector('#history-table .more').hidden")
    #expect(isHidden)
  }

  @Test(arguments: [true, false]) func aPersonsChoiceBeatsTheSystems(isDark: Bool) async throws {
    let browser = try await Self.browser(showing: ReportSample.full)
    try await browser.setScreen(width: 1_280, isDark: isDark)
    let ground = "getComputedStyle(document.body).backgroundColor"
    let own: String = try await browser.value(ground)
    let other = isDark ? "light" : "dark"
    let _: Bool = try await browser.value(
      "document.querySelector('input[value=\(other)]').click() ?? true")
    let chosen: String = try await browser.value(ground)
    #expect(chosen != own)
    let _: Bool = try await browser.value(
      "document.querySelector('input[value=auto]').click() ?? true")
    let back: String = try await browser.value(ground)
    #expect(back == own)
  }

  @Test(arguments: [1_280, 390]) func aLongTextAnywhereFitsTheScreen(width: Int) async throws {
    let browser = try await Browser(#require(Browser.path))
    try await browser.setScreen(width: width, isDark: false)
    try await browser.show(ReportPage.html(ReportSample.named(String(repeating: "x", count: 300))))
    let pageWidth: Int = try await browser.value("document.documentElement.scrollWidth")
    #expect(pageWidth == width)
    let file = Self.pictures(browser).appending(path: "long-\(width).png")
    try await browser.writeScreenshot(to: file)
    try await Self.expectQuiet(browser)
  }

  @Test(arguments: [1_280, 390], [false, true])
  func thePageFitsTheScreenAndCanBeRead(width: Int, isDark: Bool) async throws {
    for (name, data) in [("full", ReportSample.full), ("empty", ReportSample.empty)] {
      let browser = try await Browser(#require(Browser.path))
      try await browser.setScreen(width: width, isDark: isDark)
      try await browser.show(ReportPage.html(data))
      let _: Bool = try await browser.value(
        "document.querySelectorAll('details').forEach((d) => d.open = true) ?? true")
      let pageWidth: Int = try await browser.value("document.documentElement.scrollWidth")
      #expect(pageWidth == width)
      let faint: [String] = try await browser.value(Self.faintTexts)
      #expect(faint == [])
      let file = Self.pictures(browser).appending(
        path: "\(name)-\(width)-\(isDark ? "dark" : "light").png")
      try await browser.writeScreenshot(to: file)
      let picture = try Data(contentsOf: file)
      // The width stands at the 17th byte of a PNG.
      let pictureWidth = picture[16..<20].reduce(0) { $0 << 8 | Int($1) }
      #expect(pictureWidth == width)
      try await Self.expectQuiet(browser)
    }
  }
}

// MARK: - Helpers

extension ReportBrowserTests {
  /// A browser that has loaded the page of `data`.
  private static func browser(showing data: ReportData) async throws -> Browser {
    let browser = try await Browser(#require(Browser.path))
    try await browser.show(ReportPage.html(data))
    return browser
  }

  /// The texts of a column of the entries, as they are shown.
  private static func entries(in browser: Browser, column: Int) async throws -> [String] {
    try await browser.value(
      "[...document.querySelectorAll('#entries tr td:nth-child(\(column + 1))')]"
        + ".map((cell) => cell.textContent)"
    )
  }

  /// The browser requested nothing but the page, and reported no error.
  private static func expectQuiet(
    _ browser: Browser, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    // An answer, before which all events have come.
    let _: Int = try await browser.value("1")
    let page = browser.folder.appending(path: "report.html").absoluteString
    let others = browser.requests.filter { $0 != page && !$0.hasPrefix("data:") }
    #expect(others == [], sourceLocation: sourceLocation)
    #expect(browser.complaints == [], sourceLocation: sourceLocation)
  }

  /// The folder for pictures: one that the developer named, to look at them, or the browser's own.
  private static func pictures(_ browser: Browser) -> URL {
    ProcessInfo.processInfo.environment["REPORT_SCREENSHOTS"].map { URL(filePath: $0) }
      ?? browser.folder
  }

  /// JavaScript: the texts whose contrast with what is behind them is below 4.5 to 1, as WCAG 2
  /// reckons.
  private static let faintTexts = #"""
    (() => {
      const parse = (text) => text.match(/[\d.]+/g).map(Number);
      const light = (colour) => {
        const [r, g, b] = colour.slice(0, 3).map((c) => c / 255)
          .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const ground = (element) => {
        for (let e = element; e; e = e.parentElement) {
          const colour = parse(getComputedStyle(e).backgroundColor);
          if (colour.length < 4 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
      };
      const faint = new Set();
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (walker.currentNode.data.trim() === "" || element.closest("script, noscript")) continue;
        const a = light(parse(getComputedStyle(element).color)), b = light(ground(element));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) faint.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
      }
      return [...faint];
    })()
    """#
}
