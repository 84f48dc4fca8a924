extension ReportPage {
  private typealias Column = ReportTable.Column

  /// The column of the partition, if there is more than one.
  private var partitionColumn: [Column] {
    self.data.partitions.count > 1 ? [Column("Partition", "partition", .partition)] : []
  }

  /// All entries.
  var entryTable: String {
    let columns =
      [
        Column("Identity", "identity", .code), Column("Size", "bytes", .size),
        Column("Age", "storedAt", .age), Column("Freshness", "freshness", .chip),
        Column("Kind", "kind", .text), Column("Updates", "updates", .number),
        Column("Laid over", "pending", .number),
        Column("Stored", "storedAt", .date),
      ] + self.partitionColumn + [Column("Hash", "hash", .id)]
    let table = ReportTable(
      id: "entries", caption: "Entries", noun: "entries", source: "entries", columns: columns,
      more: self.data.moreEntries)
    return Self.section("entries", "Entries", self.data.entries.isEmpty, "The cache is empty.") {
      table.html
    }
  }

  /// The timeline, the dead rows, and all rows of the outbox.
  var outbox: String {
    let dead = self.data.outbox.contains { $0.state == "dead" }
    let timeline = ReportTimeline(self.data).html
    return """
      <section id="outbox" aria-labelledby="outbox-title"><h2 id="outbox-title">Outbox</h2>
      \(timeline)
      <h3>Dead rows</h3>
      \(dead ? self.deadTable.html : Self.nothing("No row is dead."))
      <h3>All rows</h3>
      \(self.data.outbox.isEmpty ? Self.nothing("The outbox is empty.") : self.rowTable.html)
      </section>
      """
  }

  private var deadTable: ReportTable {
    ReportTable(
      id: "dead", caption: "Dead rows", noun: "dead rows", source: "outbox", state: "dead",
      columns: [
        Column("Number", "number", .ordinal), Column("Name", "name", .text),
        Column("Reason", "reason", .text), Column("Last error", "lastError", .long),
        Column("Attempts", "attempts", .number), Column("Created", "createdAt", .date),
        Column("Lane", "lane", .text),
      ] + self.partitionColumn + [Column("Identifier", "id", .id)])
  }

  private var rowTable: ReportTable {
    ReportTable(
      id: "rows", caption: "Outbox rows", noun: "outbox rows", source: "outbox",
      columns: [
        Column("Number", "number", .ordinal), Column("Name", "name", .text),
        Column("State", "state", .chip), Column("Reason", "reason", .text),
        Column("Attempts", "attempts", .number), Column("Next attempt", "nextAttemptAt", .date),
        Column("Created", "createdAt", .date), Column("Lane", "lane", .text),
        Column("Last error", "lastError", .long),
      ] + self.partitionColumn + [Column("Identifier", "id", .id)],
      more: self.data.moreOutbox)
  }

  /// The mutations that ended.
  var historyTable: String {
    let columns =
      [
        Column("Ended", "endedAt", .date), Column("Name", "name", .text),
        Column("Outcome", "outcome", .chip), Column("Duration", "seconds", .duration),
        Column("Attempts", "attempts", .number), Column("Error", "error", .long),
      ] + self.partitionColumn
      + [Column("Number", "number", .ordinal), Column("Identifier", "id", .id)]
    let table = ReportTable(
      id: "history", caption: "Mutations that ended", noun: "history", source: "history",
      columns: columns, more: self.data.moreHistory)
    let empty = "No mutation has ended."
    return Self.section("history", "History", self.data.history.isEmpty, empty) { table.html }
  }

  /// A section with its heading; if there is nothing to show, a sentence says so.
  private static func section(
    _ id: String, _ title: String, _ isEmpty: Bool, _ empty: String, _ content: () -> String
  ) -> String {
    """
    <section id="\(id)" aria-labelledby="\(id)-title"><h2 id="\(id)-title">\(title)</h2>
    \(isEmpty ? self.nothing(empty) : content())
    </section>
    """
  }

  /// The text shown if there are no rows.
  private static func nothing(_ text: String) -> String {
    "<div class=\"card\"><p class=\"empty\">\(text)</p></div>"
  }
}
