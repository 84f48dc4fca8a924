import FoundationEssentials

/// One self-contained HTML page about a store, which loads nothing from the network.
///
/// ```swift
/// try ReportPage.html(data).write(to: file, atomically: true, encoding: .utf8)
/// ```
/// Totals and charts are in the page as it is; the tables are filled by its script from the data,
/// which the page carries as JSON. The content policy lets that one script and one style sheet run,
/// by a random nonce, so that a text of the store could not run even if it came to stand as markup.
struct ReportPage {
  let data: ReportData

  /// What the page's own script and style sheet show to be let through: nothing in the store knows it.
  let nonce: String

  /// The page about `data`, the same for the same data and nonce.
  ///
  /// - Parameter nonce: A text of letters, digits and dashes that the author of a stored text cannot know.
  /// - Throws: `EncodingError`, as `JSONEncoder` may; nothing in ``ReportData`` makes it.
  static func html(_ data: ReportData, nonce: String = UUID().uuidString) throws -> String {
    try Self(data: data.shortened(), nonce: nonce).html()
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
    <script nonce="\(self.nonce)">\(ReportScript.text)</script>
    </body>
    </html>

    """
  }

  private var head: String {
    """
    <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="\(self.policy)">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="referrer" content="no-referrer">
    <meta name="color-scheme" content="light dark">
    <title>Cache report: \(self.title)</title>
    <link rel="icon" href="data:,">
    <style nonce="\(self.nonce)">\(ReportStyle.text)</style>
    </head>
    """
  }

  /// Nothing may be loaded or run but the page's own style sheet and script. The empty icon keeps a
  /// browser from asking a server for one.
  var policy: String {
    "default-src 'none'; img-src data:; style-src 'nonce-\(self.nonce)'; "
      + "script-src 'nonce-\(self.nonce)'; base-uri 'none'; form-action 'none'"
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
