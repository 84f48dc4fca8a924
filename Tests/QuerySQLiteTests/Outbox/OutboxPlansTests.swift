import CSQLite
import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Replay §4: what a claim asks is found by seeks, however many rows there are.
@Suite struct OutboxPlansTests {
  private let folder: TemporaryFolder
  private let plans: StatementPlans

  init() throws {
    self.folder = try TemporaryFolder()
    self.plans = StatementPlans(
      connection: try DatabaseOpener(.mutations, in: self.folder).openWriter())
  }

  @Test(arguments: [
    (LaneHeadRow.nextGroup, "lane_heads_ready"), (LaneHeadRow.nextFirstTry, "lane_heads_ready"),
    (LaneHeadRow.nextRepeat, "lane_heads_ready"),
    (LaneHeadRow.firstWaiting, "lane_heads_ready"), (LaneHeadRow.findDue, "lane_heads_due"),
    (LaneHeadRow.find, "outbox_by_lane"), (OutboxTransaction.behind, "outbox_by_lane"),
    (LaneHeadRow.deleteOfLane, "lane_heads_by_lane"),
    (OutboxRow.findByID, "outbox_by_id"), (OutboxRow.findByID, "outbox_leased"),
    (AliasRow.awaiting, "outbox_awaiting"), (AliasRow.anyAwaiting, "outbox_awaiting"),
    (DependencyRow.dependants, "dependencies_by_target"),
    (HistoryRow.readByName, "history_by_name"), (HistoryRow.readByID, "history_by_id"),
    (HistoryRow.readEffects, "history_effects"), (HistoryRow.readEndedAfter, "history_by_name"),
    (OutboxTransaction.ofMutation, "history_by_name"),
    (OutboxTransaction.beyondCount, "history_by_name"),
    (OutboxTransaction.oldestOfMutation, "history_by_name"),
    (OutboxTransaction.countUpTo, "history_by_name"),
    (OutboxTransaction.deleteUpTo, "history_by_name"),
    (OutboxTransaction.deleteAttemptsUpTo, "history_by_name"),
    (OutboxTransaction.refused, "outbox_refused"), (OutboxTransaction.offline, "outbox_offline"),
    (AliasRow.prune, "aliases_by_date"), (ForgottenRow.insertUpTo, "history_by_name"),
    (ForgottenRow.prune, "forgotten_by_sequence"),
    (ForgottenRow.erase, "forgotten_by_sequence"),
    (OutboxTransaction.overdue, "outbox_expiring"),
    (OutboxTransaction.nextExpiry, "outbox_expiring"),
    (OutboxTransaction.unreadable, "outbox_unreadable"),
  ])
  func aStatementSeeks(_ sql: SQL, _ index: String) throws {
    try self.plans.expectSeek(of: sql, by: index)
  }

  @Test(arguments: [
    OutboxRow.read, OwnerRow.readLease, OwnerRow.extend, OutboxTransaction.oldest,
    OutboxTransaction.deleteBetween, OutboxTransaction.deleteAttemptsBetween, LaneHeadRow.waiting,
    OutboxTransaction.olderThanBoot, OutboxRow.update, OutboxRow.updateToWait,
    OutboxRow.updateToRun,
    ForgottenRow.insertBetween, ForgottenRow.insertOne,
  ])
  func aRowIsFoundByItsNumber(_ sql: SQL) throws {
    try self.plans.expectRowNumber(of: sql)
  }

  /// Of all rows only those with files are looked at.
  @Test(arguments: [BodyFolder.allNames, BodyFolder.isNamed])
  func rowsWithFilesAreFoundAmongThemselves(_ sql: SQL) throws {
    let plan = try self.plans[sql]
    #expect(plan.contains("outbox USING COVERING INDEX outbox_by_body"), "\(plan)")
  }

  /// The first head in the order of numbers, with no sort; and the dead ones among themselves.
  @Test func theOldestIsFoundWithoutALookAtTheOthers() throws {
    let first = try self.plans[OutboxTables.firstHead]
    #expect(first.contains("SCAN lane_heads") && !first.contains("TEMP B-TREE"), "\(first)")
    let behind = try self.plans[OutboxTables.firstBehindDead]
    #expect(behind.contains("outbox_dead") && behind.contains("outbox_by_lane"), "\(behind)")
    #expect(!behind.contains("TEMP B-TREE"), "\(behind)")
  }

  /// Those that run are few.
  @Test(arguments: [OwnerRow.leases, OwnerRow.cancelled])
  func leasesAreFoundAmongThoseThatRun(_ sql: SQL) throws {
    let plan = try self.plans[sql]
    #expect(plan.contains("SCAN outbox USING INDEX outbox_leased"), "\(plan)")
  }

  @Test func theRowsOfAMutationAreFoundByNameAndAmongThoseThatRun() throws {
    let waited = try self.plans[OutboxTables.waitedRows]
    // The newest are at the end of the index.
    #expect(waited.contains("SEARCH outbox USING INDEX outbox_by_name"), "\(waited)")
    #expect(!waited.contains("TEMP B-TREE"), "\(waited)")
    let leased = try self.plans[OutboxTables.leasedRows]
    #expect(leased.contains("SCAN outbox USING INDEX outbox_leased"), "\(leased)")
  }

  /// The first rows in the order of ends are examined, as many as the limit.
  @Test func oldHistoryIsReadInTheOrderOfEnds() throws {
    let plan = try self.plans[OutboxTransaction.before]
    #expect(plan.contains("INTEGER PRIMARY KEY"), "\(plan)")
    #expect(!plan.contains("TEMP B-TREE"), "\(plan)")
  }

  @Test func theNextGroupIsFoundByVersionAndHost() throws {
    let plan = try self.plans[LaneHeadRow.nextGroup]
    #expect(plan.contains("(version,host,priority,is_repeat)>(?,?,?,?)"), "\(plan)")
  }

  /// A plan does not tell that a seek begins at the first row of the group that it is to pass over.
  @Test func theNextGroupIsFoundWithoutALookAtTheRowsOfTheLast() throws {
    let connection = self.plans.connection
    // Heads alone: the rows that they stand for are not read.
    try connection.execute("PRAGMA foreign_keys = OFF")
    let steps = try [10, 10_000].map { count in
      try connection.write {
        try connection.execute("DELETE FROM lane_heads")
        try connection.execute(
          """
          WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT ?)
          INSERT INTO lane_heads (number, partition, name, instance, version, host, state)
          SELECT n, 7, 'send', '', 1, 'a', 'ready' FROM numbers
          """, Int64(count))
      }
      return try connection.withStatement(LaneHeadRow.nextGroup) { row in
        try row.bind(Int64(7), at: 1)
        try row.bind("send", at: 2)
        try row.bind("", at: 3)
        try row.bind(Int64(1), at: 4)
        try row.bind("a", at: 5)
        try row.bind(Int64(0), at: 6)
        try row.bind(Int64(1), at: 7)
        #expect(try !row.step(), "there is one group")
        return sqlite3_stmt_status(row.handle, SQLITE_STMTSTATUS_VM_STEP, 1)
      }
    }
    #expect(steps[0] == steps[1])
  }
}
