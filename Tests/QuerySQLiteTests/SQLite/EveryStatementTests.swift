import StorageTestSupport
import Testing

@testable import QuerySQLite

/// No statement of the library, also none that is added tomorrow, reads a whole table or sorts, but those
/// that are named here with the reason.
@Suite struct EveryStatementTests {
  private let folder: TemporaryFolder
  private let connections: [SQLiteConnection]
  private let statements: [StatementSource]

  init() throws {
    self.folder = try TemporaryFolder()
    self.connections = [
      try DatabaseOpener(.cache, in: self.folder).openWriter(),
      try DatabaseOpener(.mutations, in: self.folder).openWriter(),
    ]
    self.statements = try StatementSource.all()
  }

  /// What is looked through from end to end is small: a row for each account, pause or step of the
  /// schema, or the mutations that run.
  private static let small = [
    "SCAN CONSTANT ROW", "SCAN (subquery", "SCAN partitions", "SCAN pauses", "SCAN salvages",
    "SCAN migrations", "SCAN log_link", "SCAN clock", "SCAN sqlite_", "VIRTUAL TABLE",
    "USING INDEX outbox_leased",
  ]

  private static let whole = [
    "ConfirmationRow.insert": "500 narrow rows at most",
    "ConfirmationRow.readChanged": "500 narrow rows at most",
    "LaneHeadRow.findRunning":
      "the index has what runs, a few rows; asked if one comes before those of its lane",
    "AliasRow.firstLive": "in the order of numbers, to the first that is not dead",
    "AttemptRow.read": "the attempts of one mutation are sorted",
    "DependencyRow.any": "one row",
    "DependencyRow.ofPartition": "at the opening, and only while there are dependencies",
    "DerivedRows.count": "the counts are made anew after damage",
    "DerivedRows.running": "the heads are made anew after damage",
    "ErasedMutations.rows": "an account is erased as a whole",
    "OutboxPartitionRow.totals": "an account whose counts cannot be right",
    "OutboxPartitionRow.deleteOther": "its reference is looked for in the rows of other accounts",
    "Erasure.remove": "its reference is looked for in the rows of other accounts",
    "SQLiteConnection.deleteMark": "its reference is looked for in the rows of other accounts",
    "OwnerRow.leases": "those that run are sorted",
    "OutboxTables.leasedNumbers": "those that run are sorted",
    "OutboxTables.firstHead": "in the order of numbers, to the first",
    "OutboxTables.kinds": "at the opening of an outbox whose rows are not known",
    "OutboxTables.countsOfHosts": "at the opening of an outbox whose rows are not known",
    "OutboxTransaction.newest": "in the order of ends, to the first",
    "OutboxChores.Chore.targets": "at the opening, and only what dependencies there are",
    "OutboxWriter.hasRows": "one row",
    "Migrator.schema": "the tables and indexes are sorted",
    "SalvageLayout.tableColumns": "the columns are sorted",
  ]

  /// What mends or saves a damaged file goes through all of it.
  private static let menders = ["OutboxRepair.", "OutboxRestoration.", "Salvage"]

  private func plans(of text: String) -> [[String]] {
    self.connections.compactMap { try? $0.rowsOfText("EXPLAIN QUERY PLAN \(text)") }
  }

  private static func isWhole(_ step: String) -> Bool {
    if step.contains("TEMP B-TREE") { return true }
    return step.contains("SCAN") && !Self.small.contains { step.contains($0) }
  }

  @Test func noStatementReadsAWholeTableOrSorts() throws {
    let literals = self.statements.filter { !$0.isAssembled }
    #expect(literals.count > 200)
    for statement in literals {
      let plans = self.plans(of: statement.text)
      #expect(!plans.isEmpty, "\(statement.name) is a statement of neither database")
      let isMending = Self.menders.contains { statement.name.hasPrefix($0) }
      let isExcused = isMending || Self.whole[statement.name] != nil
      #expect(
        isExcused || !plans.joined().contains(where: Self.isWhole), "\(statement.name): \(plans)")
    }
  }

  /// Or the next statement of that name would be excused.
  @Test func noExcuseIsLeftOfAStatementThatNeedsNone() {
    for name in Self.whole.keys {
      let plans = self.statements.filter { $0.name == name }.flatMap { self.plans(of: $0.text) }
      #expect(plans.joined().contains(where: Self.isWhole), "\(name)")
    }
  }

  private static let unnamed = [
    "HistoryRow.insert": "a row is added; nothing is looked for",
    "OutboxRow.insert": "a row is added; nothing is looked for",
  ]

  /// Their text is not in the source, so a test of plans asserts each by its name.
  @Test func aStatementThatIsAssembledIsAssertedByName() throws {
    let assembled = self.statements.filter(\.isAssembled)
    #expect(assembled.count > 15)
    let tests = try StatementSource.textOfPlanTests()
    for statement in assembled where !Self.menders.contains(where: statement.name.hasPrefix) {
      let isNamed = tests.contains(try Regex("\\b\(statement.name)\\b"))
      #expect(isNamed || Self.unnamed[statement.name] != nil, "\(statement.name)")
    }
  }
}
