import Foundation

/// One self-contained HTML page about a store, which loads nothing from the network.
///
/// ```swift
/// try ReportPage.html(data).write(to: file, atomically: true, encoding: .utf8)
/// ```
/// Totals and charts are in the page as it is; the tables are filled by its script from the data,
/// which the page carries as JSON. The content policy lets that one script and one style sheet run,
/// by their digests, so that a text of the store could not run even if it came to stand as markup.
struct ReportPage {
  let data: ReportData

  /// The page about `data`, the same for the same data.
  ///
  /// - Throws: `EncodingError`, as `JSONEncoder` may; nothing in ``ReportData`` makes it.
  static func html(_ data: ReportData) throws -> String {
    try Self(data: data.shortened()).html()
  }

  /// The parts in their order.
  private func html() throws -> String {
    """
    <!DOCTYPE html>
    <html lang="en">
    \(self.head)
    <body>
    <a class="skip" href="#totals">Skip to the totals</a>
    \(self.header)
    <main>
    \(self.totals)
    \(self.charts)
    \(self.biggest)
    \(self.entryTable)
    \(self.outbox)
    \(self.historyTable)
    \(self.store)
    </main>
    <script type="application/json" id="data">\(try self.json())</script>
    <script>\(ReportScript.text)</script>
    </body>
    </html>

    """
  }

  private var head: String {
    """
    <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="\(Self.policy)">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="referrer" content="no-referrer">
    <meta name="color-scheme" content="light dark">
    <title>Cache report: \(self.title)</title>
    <link rel="icon" href="data:,">
    <style>\(ReportStyle.text)</style>
    </head>
    """
  }

  /// Nothing may be loaded or run but the page's own style sheet and script. The empty icon keeps a
  /// browser from asking a server for one.
  static let policy = [
    "default-src 'none'", "img-src data:",
    "style-src '\(Self.source(ReportStyle.text))'",
    "script-src '\(Self.source(ReportScript.text))'",
    "base-uri 'none'", "form-action 'none'",
  ].joined(separator: "; ")

  /// How a policy names an inline text.
  private static func source(_ text: String) -> String {
    "sha256-" + Data(SHA256.digest(of: text)).base64EncodedString()
  }

  /// The data for the script.
  private func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Numbers that JSON does not have would otherwise end the report.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "infinite", negativeInfinity: "-infinite", nan: "not a number")
    let json = try encoder.encode(self.data)
    return ReportText.scriptData(String(decoding: json, as: UTF8.self))
  }

  /// What the page is about: the application, or the folder.
  var title: String { ReportText.html(self.data.applicationID ?? self.data.folder) }
}
