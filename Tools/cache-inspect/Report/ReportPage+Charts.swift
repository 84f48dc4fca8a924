extension ReportPage {
  /// Size by kind, and how ages and sizes are distributed.
  var charts: String {
    let kinds = self.data.kinds.map { kind in
      Bar(
        label: ReportText.html(kind.name), measure: kind.bytes,
        value: ReportMeasure.size(kind.bytes),
        detail: ReportMeasure.count(kind.count, "entry", "entries"))
    }
    return """
      <section id="sizes" aria-labelledby="sizes-title"><h2 id="sizes-title">Size and age</h2>
      <div class="grid">
      \(Self.chart("Size by kind", ["Kind", "Size", "Entries"], kinds))
      \(Self.chart("Age of the values", ["Age", "Entries", "Size"], self.bars(self.data.ages)))
      \(Self.chart("Size of the entries", ["Size", "Entries", "Sum"], self.bars(self.data.sizes)))
      </div></section>
      """
  }

  /// The ranges of a histogram. An empty one has no bars, rather than seven empty ones.
  private func bars(_ buckets: [ReportHistogram.Bucket]) -> [Bar] {
    if !buckets.contains(where: { $0.count > 0 }) { return [] }
    return buckets.map { bucket in
      Bar(
        label: ReportText.html(bucket.label), measure: bucket.count,
        value: ReportMeasure.count(bucket.count), detail: ReportMeasure.size(bucket.bytes))
    }
  }

  /// The biggest entries, ten to see at once and the others to unfold.
  var biggest: String {
    let all = self.data.biggest.prefix(ReportData.maximumBiggest).map { entry in
      Bar(
        label: ReportText.html(entry.identity), measure: entry.bytes,
        value: ReportMeasure.size(entry.bytes), detail: ReportText.html(entry.kind))
    }
    let largest = all.map(\.measure).max() ?? 0
    let columns = ["Entry", "Size", "Kind"]
    let caption = all.count < 2 ? "The biggest" : "The \(min(all.count, 10)) biggest"
    let first = Self.chart(
      caption, columns, Array(all.prefix(10)), upTo: largest)
    let rest =
      all.count <= 10
      ? ""
      : """
      <details><summary>\(all.count - 10) more</summary>
      \(Self.chart("The biggest, from the 11th", columns, Array(all.dropFirst(10)), upTo: largest))
      </details>
      """
    return """
      <section id="biggest" aria-labelledby="biggest-title">
      <h2 id="biggest-title">Biggest entries</h2>
      <div class="wide">\(first)
      \(rest)</div></section>
      """
  }
}

// MARK: - Bars

extension ReportPage {
  /// A row of a chart. Its texts are HTML.
  private struct Bar {
    let label: String
    /// What its length shows.
    let measure: Int
    let value: String
    let detail: String
  }

  /// A heading that is read aloud and not seen: beside bars it would say what they show by
  /// themselves.
  private static func heading(_ text: String) -> String {
    "<th scope=\"col\"><span class=\"unseen\">\(text)</span></th>"
  }

  /// A chart that is a table, so that nothing in it is visible only as a picture: label, bar with
  /// value, detail.
  ///
  /// - Parameter largest: The value of a full bar; the longest bar's if it is not given.
  private static func chart(
    _ caption: String, _ columns: [String], _ bars: [Bar], upTo largest: Int? = nil
  ) -> String {
    if bars.isEmpty {
      return
        "<div class=\"card\"><h3>\(caption)</h3><p class=\"empty\">The cache is empty.</p></div>"
    }
    let full = Double(largest ?? bars.map(\.measure).max() ?? 0)
    let rows = bars.map { bar in
      """
      <tr><th scope="row"><bdi>\(bar.label)</bdi></th>\
      <td class="bar"><svg aria-hidden="true" width="100%" height="12">\
      <rect class="track" width="100%" height="12" rx="3"/>\
      <rect class="fill" width="\(ReportMeasure.percent(Double(bar.measure), of: full))" \
      height="12" rx="3"/></svg></td>\
      <td class="value">\(bar.value)</td><td class="detail">\(bar.detail)</td></tr>
      """
    }
    return """
      <div class="card"><table class="chart"><caption>\(caption)</caption>
      <thead><tr>\(self.heading(columns[0]))<td></td>\(self.heading(columns[1]))\
      \(self.heading(columns[2]))</tr></thead>
      <tbody>
      \(rows.joined(separator: "\n"))
      </tbody></table></div>
      """
  }
}
