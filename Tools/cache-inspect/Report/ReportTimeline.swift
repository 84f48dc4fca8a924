import FoundationEssentials
import ToolSupport

/// What became of the mutations in the course of time: columns for those that ended, and a line for
/// each that waits or is dead.
struct ReportTimeline {
  /// How many rows are drawn; the table below has all of them.
  static let maximumRows = 40
  /// How many columns the time is divided into.
  static let columns = 48
  /// How far back it goes, in seconds: a clock that was wrong once must not squeeze the rest.
  static let maximumSpan = 90.0 * 86_400

  /// The time that is shown, in seconds since 1970.
  let span: ClosedRange<Double>
  /// How many mutations ended well and otherwise, in each column.
  let ended: [(succeeded: Int, other: Int)]
  /// Whether something lies outside the time that is shown.
  let isCut: Bool

  private let data: ReportData

  /// The timeline of the mutations in `data`, as the store was read.
  init(_ data: ReportData) {
    let now = data.madeAt.seconds
    let past = data.outbox.map(\.createdAt.seconds) + data.history.map(\.endedAt.seconds)
    let future = data.outbox.compactMap(\.nextAttemptAt?.seconds)
    let earliest = past.min() ?? now
    let latest = (past + future).max() ?? now
    let start = min(max(earliest, now - Self.maximumSpan), now - 60)
    // The future has at most as much room as the past, but at least an hour.
    let end = max(now, min(latest, now + max(now - start, 3_600)))
    self.span = start...end
    self.isCut = earliest < start || latest > end
    var ended = Array(repeating: (succeeded: 0, other: 0), count: Self.columns)
    for row in data.history where (start...end).contains(row.endedAt.seconds) {
      let part = (row.endedAt.seconds - start) / (end - start)
      let column = min(Int(part * Double(Self.columns)), Self.columns - 1)
      if row.outcome == "succeeded" {
        ended[column].succeeded += 1
      } else {
        ended[column].other += 1
      }
    }
    self.ended = ended
    self.data = data
  }

  /// The timeline, or a sentence if no mutation is known.
  var html: String {
    if self.data.outbox.isEmpty && self.data.history.isEmpty {
      return
        "<div class=\"card\"><p class=\"empty\">No mutation waits, and none has ended.</p></div>"
    }
    let cut = self.isCut ? "<p class=\"note\">What lies outside is drawn at the edge.</p>" : ""
    return """
      <div class="card timeline"><h3>Timeline</h3>
      \(self.legend)
      \(self.strip)
      \(self.rows)
      \(self.axis)
      \(cut)
      </div>
      """
  }

  private var legend: String {
    """
    <ul class="legend"><li class="good">succeeded</li><li class="other">ended otherwise</li>\
    <li class="pending">pending</li><li class="leased">leased</li><li class="dead">dead</li>\
    <li class="now">now</li></ul>
    """
  }

  private var axis: String {
    let ends = [self.span.lowerBound, self.span.upperBound].map { seconds in
      ReportPage.time(self.data.madeAt.moved(to: seconds))
    }
    return """
      <p class="axis"><span>\(ends[0])</span><span>\(ends[1])</span></p>
      """
  }

  /// The place of a moment, in seconds since 1970, from the left edge.
  private func percent(_ seconds: Double) -> String {
    ReportMeasure.percent(
      seconds - self.span.lowerBound, of: self.span.upperBound - self.span.lowerBound)
  }

  private var now: String {
    let place = self.percent(self.data.madeAt.seconds)
    return "<line class=\"now\" x1=\"\(place)\" x2=\"\(place)\" y1=\"0\" y2=\"100%\"/>"
  }
}

// MARK: - What ended

extension ReportTimeline {
  /// A column of the height of 60 for the time in which most mutations ended.
  private var strip: String {
    let most = self.ended.map { $0.succeeded + $0.other }.max() ?? 0
    if most == 0 { return "" }
    let width = 100 / Double(Self.columns)
    var bars = ""
    for (index, column) in self.ended.enumerated() {
      let x = FixedPoint.text(Double(index) * width + width * 0.1, decimals: 3) + "%"
      let parts = [("good", column.succeeded), ("other", column.other)]
      var top = 60.0
      for (style, count) in parts where count > 0 {
        // A single mutation beside thousands must still be visible.
        let height = max(60 * Double(count) / Double(most), 2)
        top = max(top - height, 0)
        bars += """
          <rect class="\(style)" x="\(x)" y="\(FixedPoint.text(top, decimals: 1))" \
          width="\(FixedPoint.text(width * 0.8, decimals: 3))%" \
          height="\(FixedPoint.text(height, decimals: 1))"/>
          """
      }
    }
    let sum = self.ended.reduce(0) { $0 + $1.succeeded + $1.other }
    let good = self.ended.reduce(0) { $0 + $1.succeeded }
    let text =
      ReportMeasure.count(sum, "mutation ended", "mutations ended")
      + ", \(ReportMeasure.count(good)) of them succeeded"
    return """
      <p class="line"><span class="name">Ended</span><svg role="img" aria-label="\(text)" \
      width="100%" height="60">\(bars)\(self.now)</svg><span class="detail">\(text)</span></p>
      """
  }
}

// MARK: - What is there

extension ReportTimeline {
  private var rows: String {
    if self.data.outbox.isEmpty { return "" }
    let rows = self.data.outbox.prefix(Self.maximumRows).map { "<li>\(self.line($0))</li>" }
    let hidden = self.data.outbox.count - rows.count + self.data.moreOutbox
    let more =
      hidden == 0
      ? "" : "<p class=\"note\">\(ReportMeasure.count(hidden, "row", "rows")) more, not drawn.</p>"
    return "<ol class=\"lines\">\n\(rows.joined(separator: "\n"))\n</ol>\n\(more)"
  }

  /// A bar from the row's creation to now, and a thin line to its next attempt.
  private func line(_ row: ReportData.OutboxRow) -> String {
    let style = ["pending", "leased", "dead"].contains(row.state) ? row.state : "pending"
    let whole = self.span.upperBound - self.span.lowerBound
    // A mutation created a moment ago must still be visible.
    let newest = self.data.madeAt.seconds - whole / 100
    let begin = max(min(row.createdAt.seconds, newest), self.span.lowerBound)
    let length = self.data.madeAt.seconds - begin
    let next = row.nextAttemptAt.map { date in
      """
      <line class="next" x1="\(self.percent(self.data.madeAt.seconds))" \
      x2="\(self.percent(date.seconds))" y1="7" y2="7"/>\
      <circle class="next" cx="\(self.percent(date.seconds))" cy="7" r="3.5"/>
      """
    }
    let width = ReportMeasure.percent(length, of: whole)
    let attempts = ReportMeasure.count(row.attempts, "attempt", "attempts")
    let state = [row.state, row.reason].compactMap { $0 }.map(ReportText.html).joined(
      separator: ", ")
    return """
      <p class="line"><span class="name">#\(row.number) \
      <bdi>\(ReportText.html(row.name))</bdi></span>\
      <svg aria-hidden="true" width="100%" height="14">\
      <rect class="track" y="5" width="100%" height="4" rx="2"/>\
      <rect class="\(style) bar" x="\(self.percent(begin))" y="2" width="\(width)" height="10" \
      rx="3"/>\
      \(next ?? "")\(self.now)</svg>\
      <span class="detail">\(state), \(attempts)</span></p>
      """
  }
}
