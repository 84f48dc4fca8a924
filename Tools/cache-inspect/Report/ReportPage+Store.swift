import FoundationEssentials

extension ReportPage {
  /// What the page is about, the way to its parts, and the choice of light or dark.
  var header: String {
    let application = self.data.applicationID.map { Self.term("Application", ReportText.html($0)) }
    let names = self.data.partitions.map {
      ReportText.html($0.name.isEmpty ? "(default)" : $0.name)
    }
    let partitions =
      names.isEmpty ? "none" : names.map { "<bdi>\($0)</bdi>" }.joined(separator: ", ")
    return """
      <header>
      <div class="heading"><h1>Cache report</h1>
      <fieldset class="theme"><legend>Colours</legend>
      \(["auto", "light", "dark"].map(Self.themeChoice).joined(separator: "\n"))
      </fieldset></div>
      <dl class="about">
      \(application ?? "")
      \(Self.term("Folder", ReportText.html(self.data.folder)))
      \(Self.term(names.count == 1 ? "Partition" : "Partitions", partitions))
      \(Self.term("Read", Self.time(self.data.madeAt) + " " + self.zone))
      </dl>
      <nav aria-label="Parts of the report"><a href="#totals">Totals</a> <a href="#sizes">Sizes</a>
      <a href="#biggest">Biggest</a> <a href="#entries">Entries</a> <a href="#outbox">Outbox</a>
      <a href="#history">History</a> <a href="#store">Files</a></nav>
      </header>
      """
  }

  /// One choice of the colours; the system's is chosen at first.
  private static func themeChoice(_ name: String) -> String {
    """
    <label><input type="radio" name="theme" value="\(name)"\(name == "auto" ? " checked" : "")>\
    <span>\(name.capitalized)</span></label>
    """
  }

  /// A term and what it is.
  private static func term(_ name: String, _ html: String) -> String {
    "<div><dt>\(name)</dt><dd>\(html)</dd></div>"
  }

  /// A moment, exact for programs.
  static func time(_ date: ReportDate) -> String {
    "<time datetime=\"\(date.text)\">\(date.plainText)</time>"
  }

  private var zone: String {
    let offset = self.data.madeAt.text.dropFirst(19)
    return
      "<span class=\"note\">UTC\(offset == "Z" || offset == "+00:00" ? "" : String(offset))</span>"
  }
}

// MARK: - Totals

extension ReportPage {
  /// The sums, a tile each.
  var totals: String {
    let totals = self.data.totals
    let tiles = [
      Self.tile("Entries", ReportMeasure.count(totals.entries)),
      Self.tile("Pages", ReportMeasure.count(totals.pages)),
      Self.tile("Size", ReportMeasure.size(totals.bytes)),
      Self.tile("Quarantined", ReportMeasure.count(totals.quarantined), totals.quarantined, "warn"),
      Self.tile("Pending", ReportMeasure.count(totals.pending)),
      Self.tile("Leased", ReportMeasure.count(totals.leased)),
      Self.tile("Dead", ReportMeasure.count(totals.dead), totals.dead, "bad"),
      Self.tile("History", ReportMeasure.count(totals.history)),
    ]
    return """
      <section id="totals" aria-labelledby="totals-title"><h2 id="totals-title">Totals</h2>
      <dl class="tiles">
      \(tiles.joined(separator: "\n"))
      </dl></section>
      """
  }

  /// A sum. If `alarm` is more than 0, it has the colour of `style`.
  private static func tile(
    _ name: String, _ value: String, _ alarm: Int = 0, _ style: String = ""
  ) -> String {
    let kind = alarm > 0 ? "tile \(style)" : "tile"
    return "<div class=\"\(kind)\"><dt>\(name)</dt><dd>\(value)</dd></div>"
  }
}

// MARK: - Files and limits

extension ReportPage {
  /// Files, partitions and limits, as they are.
  var store: String {
    let files = self.data.files.map { file in
      // Both numbers are what a file says of itself, and may be too large to multiply.
      let free = file.freePages.multipliedReportingOverflow(by: file.pageSize)
      let freeBytes = free.overflow ? "" : " (\(ReportMeasure.size(free.partialValue)))"
      return [
        ReportText.html(file.name), ReportMeasure.size(file.bytes),
        ReportMeasure.size(file.walBytes),
        ReportMeasure.count(file.freePages) + freeBytes, String(file.schemaLevel),
      ]
    }
    let partitions = self.data.partitions.map { partition in
      [
        ReportText.html(partition.name.isEmpty ? "(default)" : partition.name),
        ReportMeasure.count(partition.entries), ReportMeasure.size(partition.bytes),
      ]
    }
    let limits = self.data.limits.map { [ReportText.html($0.name), ReportText.html($0.value)] }
    return """
      <section id="store" aria-labelledby="store-title"><h2 id="store-title">Files and limits</h2>
      <div class="grid broad">
      \(Self.plainTable("Files", ["File", "Size", "WAL", "Free pages", "Schema"], files))
      \(Self.plainTable("Partitions", ["Partition", "Entries", "Size"], partitions))
      \(Self.plainTable("Limits", ["Limit", "Value"], limits))
      </div></section>
      """
  }

  /// A small table whose first column names the row. The cells are HTML.
  private static func plainTable(
    _ caption: String, _ columns: [String], _ rows: [[String]]
  ) -> String {
    if rows.isEmpty {
      return "<div class=\"card\"><h3>\(caption)</h3><p class=\"empty\">None.</p></div>"
    }
    let head = columns.map { "<th scope=\"col\">\($0)</th>" }.joined()
    let body = rows.map { row in
      "<tr><th scope=\"row\">\(row[0])</th>"
        + row.dropFirst().map { "<td>\($0)</td>" }.joined() + "</tr>"
    }
    return """
      <div class="card scroll" tabindex="0" role="region" aria-label="\(caption)">
      <table class="plain"><caption>\(caption)</caption>
      <thead><tr>\(head)</tr></thead>
      <tbody>
      \(body.joined(separator: "\n"))
      </tbody></table></div>
      """
  }
}
