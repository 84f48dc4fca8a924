/// A searchable and sortable table, as the page has it before its script fills it.
///
/// What the columns are is said here alone; the script reads it from the header's attributes.
struct ReportTable {
  /// A column.
  struct Column {
    /// How the script shows and sorts a value.
    enum Form: String {
      case text, long, code, id, partition, chip, ordinal, size, number, date, age, duration
    }

    /// The heading.
    let title: String
    /// The name of the value in a row of the data.
    let key: String
    let form: Form

    /// A column with its heading, the name of its values, and their form.
    init(_ title: String, _ key: String, _ form: Form) {
      self.title = title
      self.key = key
      self.form = form
    }
  }

  /// The name within the page, and the prefix of its parts' names.
  let id: String
  /// What the rows are, for the caption.
  let caption: String
  /// What the rows are, in the label of the search field: `Search entries`.
  let noun: String
  /// The name of the rows in the data.
  let source: String
  /// The only state whose rows it shows; nil: all.
  var state: String?
  let columns: [Column]
  /// How many rows the page leaves out.
  var more = 0

  /// The table without rows.
  var html: String {
    let filter = self.state.map { " data-state=\"\($0)\"" } ?? ""
    let head = self.columns.map { column in
      "<th scope=\"col\" data-key=\"\(column.key)\" data-form=\"\(column.form.rawValue)\">"
        + "\(column.title)</th>"
    }
    return """
      <div class="card table" id="\(self.id)-table" data-source="\(self.source)"\(filter)>
      <div class="tools"><label>Search \(self.noun) <input type="search" autocomplete="off" \
      spellcheck="false"></label> <p class="count" role="status"></p></div>
      \(self.missing)<div class="scroll" tabindex="0" role="region" aria-label="\(self.caption)">
      <table class="rows"><caption class="unseen">\(self.caption)</caption>
      <thead><tr>\(head.joined())</tr></thead>
      <tbody></tbody></table></div>
      <noscript><p class="empty">The page's script shows the rows, and is off.</p></noscript>
      <button type="button" class="more" hidden>Show more</button>
      </div>
      """
  }

  private var missing: String {
    if self.more == 0 { return "" }
    let rest = ReportMeasure.count(self.more, "row is", "rows are")
    let limit = ReportMeasure.count(ReportData.maximumRows)
    return "<p class=\"note\">\(rest) not in this page, which carries \(limit) at most.</p>\n"
  }
}
