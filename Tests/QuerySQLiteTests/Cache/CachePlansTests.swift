import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §4: what an entry costs to find does not depend on how many there are. Each statement
/// of the cache goes by an index or by the number of its row; none sorts.
@Suite struct CachePlansTests {
  private let folder: TemporaryFolder
  private let plans: StatementPlans

  init() throws {
    self.folder = try TemporaryFolder()
    self.plans = StatementPlans(
      connection: try DatabaseOpener(.cache, in: self.folder).openWriter())
  }

  @Test(arguments: [
    (EntryRow.read, "entries_by_identity"), (EntryRow.readRange, "entries_by_identity"),
    (EntryRow.readStamp, "entries_by_identity"), (EntryRow.readPlace, "entries_by_identity"),
    (EntryRow.readSame, "entries_by_identity"), (EntryRow.updateUse, "entries_by_identity"),
    (EntryRow.readValidity, "entries_by_identity"), (EntryRow.readChanged, "entries_by_revision"),
    (EntryRow.readExpired, "entries_by_expiry"), (EntryRow.readWritten, "entries_by_revision"),
    (EntryRow.readUsed, "entries_by_use"), (EntryRow.readAny, "entries_by_revision"),
    (PageRow.readStamps, "pages_by_position"), (PageRow.readContents, "pages_by_position"),
    (PageRow.readSizes, "pages_by_position"), (PageRow.delete, "pages_by_position"),
    (PageRow.deleteAll, "pages_by_position"),
    (QuarantineRow.insertPages, "pages_by_position"), (QuarantineRow.readAny, "quarantine_by_date"),
    (PackRow.readAll, "packs_by_name"), (PackRow.read, "packs_by_name"),
    (PackRow.readSame, "packs_by_name"),
    (PackMemberRow.leave, "pack_members_by_pack"), (PackMemberRow.readAny, "pack_members_by_hash"),
    (PackMemberRow.count, "pack_members_by_state"),
    (PackMemberRow.readError, "pack_members_by_state"),
    (PackMemberRow.readOwners, "pack_members_by_owner"),
    (PackMemberRow.free, "pack_members_by_owner"), (PackMemberRow.freeOld, "pack_members_by_owner"),
    (PackMemberRow.readFree, "pack_members_by_state"),
    (PackMemberRow.readDue, "pack_members_by_state"),
    (PackMemberRow.readResult, "pack_members_by_pack"),
    (PackMemberRow.retryRefreshes, "pack_members_by_state"),
    (PackMemberRow.retryLost, "pack_members_by_state"),
    (PackMemberRow.lose, "pack_members_by_hash"),
    (PartitionRow.readID, "sqlite_autoindex_partitions"),
    (PartitionRow.read, "entries_by_revision"),
  ])
  func aStatementSeeks(_ sql: SQL, _ index: String) throws {
    try self.plans.expectSeek(of: sql, by: index)
  }

  @Test(arguments: [
    EntryRow.update, EntryRow.updateState, EntryRow.note, EntryRow.invalidate, EntryRow.delete,
    PageRow.deleteRow,
    QuarantineRow.insertEntry, QuarantineRow.delete, PartitionRow.readName, PartitionRow.rename,
    PartitionRow.updateTotals, PackRow.update, PackRow.delete, PackMemberRow.delete,
    PackMemberRow.claim, PackMemberRow.settle, PackMemberRow.advance,
  ])
  func aRowIsFoundByItsNumber(_ sql: SQL) throws {
    try self.plans.expectRowNumber(of: sql)
  }

  /// A range has two ends, so that what lies outside it is not read.
  @Test(arguments: [EntryRow.readRange, EntryRow.readValidity])
  func whatIsUnderAPathIsARange(_ sql: SQL) throws {
    #expect(try self.plans[sql].contains("(partition=? AND identity>? AND identity<?)"))
  }
}
