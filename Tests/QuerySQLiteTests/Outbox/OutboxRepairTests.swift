import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// States that SQLite accepts and no release has written: heads that disagree with their rows, rows
/// that no claim would find, and numbers that leave none above them.
@Suite struct OutboxRepairTests {
  private static let other = MutationHandler(
    name: "note", instance: "[1]", version: 1, upgradesOlder: false)

  /// Works even if it leaves a row that refers to a missing one.
  private static func damage(_ scratch: OutboxScratch, _ sql: SQL) throws {
    let connection = try SQLiteConnection(path: scratch.path)
    defer { try? connection.close() }
    try connection.pragma("PRAGMA foreign_keys = 0")
    try connection.write { try connection.execute(sql) }
  }

  private static func claim(
    _ scratch: OutboxScratch, _ handler: MutationHandler
  ) async throws -> [UUID] {
    try await scratch.outbox.claim(ClaimRequest(.lowest(handledBy: [handler]), limit: 10))
      .leases.map(\.entry.id)
  }

  /// Even if the outbox is open: no connection has read the heads since.
  @Test(arguments: [true, false])
  func aRowWhoseHeadNamesAnotherHandlerIsSentByItsOwn(_ isOpen: Bool) async throws {
    var scratch = try OutboxScratch()
    let id = try await scratch.add()
    if !isOpen { try await scratch.storage.close() }
    try scratch.damage("UPDATE lane_heads SET instance = '[1]'")
    if !isOpen { scratch = try OutboxScratch(in: scratch.folder) }
    #expect(try await Self.claim(scratch, Self.other) == [])
    #expect(try await Self.claim(scratch, OutboxScratch.handler) == [id])
    try await scratch.storage.close()
  }

  @Test func aLaneWhoseHeadIsARowOfAnotherOneIsSentAllTheSame() async throws {
    let scratch = try OutboxScratch()
    let first = try await scratch.add(lane: "lane")
    try await scratch.add(lane: "other")
    try scratch.damage("DELETE FROM lane_heads WHERE lane = 'lane'")
    try scratch.damage("UPDATE lane_heads SET lane = 'lane'")
    let request = ClaimRequest(.lowest(handledBy: [OutboxScratch.handler]), limit: 10, lane: "lane")
    #expect(try await scratch.outbox.claim(request).leases.map(\.entry.id) == [first])
    try await scratch.storage.close()
  }

  /// One before it in its lane was retried meanwhile, which is no damage.
  @Test(arguments: [false, true])
  func aLaterRowThatRunsStaysTheHeadOfItsLane(_ isDamaged: Bool) async throws {
    let scratch = try OutboxScratch()
    let (first, _) = try await (scratch.add(lane: "lane"), scratch.add(lane: "lane"))
    let refused = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(refused, .rejection))
    let running = try #require(try await scratch.claim().first)
    try await scratch.outbox.retry(first)
    if isDamaged { try scratch.damage("UPDATE lane_heads SET instance = '[1]'") }
    let connection = try SQLiteConnection(path: scratch.path)
    try OutboxRepair(connection, OutboxClock.system.now()).run()
    #expect(
      try connection.rowsOfText("SELECT number, state FROM lane_heads")
        == ["\(running.entry.number) leased"])
    try connection.close()
    #expect(try await scratch.outbox.settle(running, OutboxScratch.success))
    #expect(try await scratch.claim().map(\.entry.id) == [first])
    try await scratch.storage.close()
  }

  @Test(arguments: [
    "UPDATE outbox SET instance = '[1]'",
    "UPDATE outbox SET instance = '[1]'; UPDATE lane_heads SET instance = '[1]'",
    "UPDATE outbox SET on_failure = 'halt'", "UPDATE outbox SET host = 'elsewhere'",
    "UPDATE outbox SET lane = 'other'; UPDATE lane_heads SET lane = 'other'",
  ])
  func aRowThatIsNotWhatWasEnqueuedIsSentByNobody(_ sql: String) async throws {
    let scratch = try OutboxScratch()
    let id = try await scratch.add(lane: "lane")
    try await scratch.storage.close()
    let connection = try SQLiteConnection(path: scratch.path)
    for statement in sql.split(separator: ";") { _ = try connection.rowsOfText(String(statement)) }
    try connection.close()
    let next = try OutboxScratch(in: scratch.folder)
    #expect(try await Self.claim(next, OutboxScratch.handler) == [])
    #expect(try await Self.claim(next, Self.other) == [])
    #expect(try next.outbox.entry(id)?.deadReason == .undecodable)
    try await next.storage.close()
  }

  /// One bit makes of a row another one, which nobody has enqueued. Neither is it sent, nor is it by
  /// asking for another try.
  @Test(
    arguments: [
      "UPDATE outbox SET number = number + 64", "UPDATE outbox SET number = -number",
      "UPDATE outbox SET id = x'000102030405060708090a0b0c0d0e0f'",
    ] as [SQL])
  func aRowOfAnotherNumberOrIdentifierIsSentByNobody(_ sql: SQL) async throws {
    let scratch = try OutboxScratch()
    try await scratch.add("pay 1")
    try await scratch.storage.close()
    try Self.damage(scratch, sql)
    let next = try OutboxScratch(in: scratch.folder)
    #expect(try await Self.claim(next, OutboxScratch.handler) == [])
    let entry = try #require(try next.outbox.entries().first)
    #expect(entry.deadReason == .undecodable)
    // The row is found as the index has it.
    for id in [entry.id] + (try next.outbox.entries(in: .dead).map(\.id)) {
      _ = try? await next.outbox.retry(id, newKey: true)
    }
    #expect(try await Self.claim(next, OutboxScratch.handler) == [])
    try await next.storage.close()
  }

  @Test func aDamagedRowIsNoneTheBetterForAnotherKey() async throws {
    let scratch = try OutboxScratch()
    let id = try await scratch.add("pay 1")
    try scratch.damage("UPDATE outbox SET arguments = CAST('pay 9' AS BLOB)")
    #expect(try await scratch.claim().isEmpty)
    _ = try await scratch.outbox.retry(id, newKey: true)
    #expect(try await scratch.claim().isEmpty)
    #expect(try scratch.outbox.entry(id)?.deadReason == .undecodable)
    try await scratch.storage.close()
  }

  @Test(
    arguments: [
      "UPDATE history SET number = number + 64", "UPDATE history SET result = x'00'",
      "UPDATE history SET id = x'000102030405060708090a0b0c0d0e0f'",
    ] as [SQL])
  func nobodyIsShownAnEndThatIsAnotherMutations(_ sql: SQL) async throws {
    let scratch = try OutboxScratch()
    try await scratch.add()
    let lease = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    #expect(try scratch.outbox.history(of: "note", instance: "[]").count == 1)
    try Self.damage(scratch, sql)
    #expect(try scratch.outbox.history(of: "note", instance: "[]").isEmpty)
    try await scratch.storage.close()
  }

  @Test(
    arguments: [
      "DELETE FROM lane_heads", "UPDATE lane_heads SET due_boottime = 9223372036854775807",
      "UPDATE lane_heads SET state = 'raedy'", "UPDATE lane_heads SET version = -1",
      "UPDATE lane_heads SET number = number + 1000", "UPDATE lane_heads SET partition = 7",
      "UPDATE lane_heads SET state = 'paused'", "UPDATE lane_heads SET priority = 1",
      "UPDATE outbox SET dead_reason = 'rejected'",
      "UPDATE outbox SET dead_reason = 'of a later release'",
    ] as [SQL])
  func aMutationWhoseHeadIsLostIsSent(_ sql: SQL) async throws {
    let scratch = try OutboxScratch()
    let ids = [try await scratch.add(), try await scratch.add(lane: "lane")]
    try await scratch.storage.close()
    try Self.damage(scratch, sql)
    let next = try OutboxScratch(in: scratch.folder)
    #expect(try await Self.claim(next, OutboxScratch.handler) == ids)
    try await next.storage.close()
  }

  /// The index of lanes tells the dead by their reason.
  @Test(
    arguments: [
      "UPDATE outbox SET dead_reason = NULL",
      "UPDATE outbox SET dead_reason = 'of a later release' WHERE state = 'dead'",
    ] as [SQL])
  func aDeadMutationWithoutAKnownReasonHoldsNoLane(_ sql: SQL) async throws {
    let scratch = try OutboxScratch()
    let dead = try await scratch.add(lane: "lane")
    let next = try await scratch.add(lane: "lane")
    let last = try await scratch.add(lane: "lane")
    let lease = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.failure(.dead(.rejected))))
    try await scratch.storage.close()
    try Self.damage(scratch, sql)
    let after = try OutboxScratch(in: scratch.folder)
    _ = try await after.outbox.cancel(next)
    #expect(try await Self.claim(after, OutboxScratch.handler) == [last])
    var found = try after.outbox.entries().first { $0.id == dead }
    #expect(found?.state == .dead)
    // Written again by this release, it stays what it was.
    _ = try await after.outbox.retry(dead)
    found = try after.outbox.entries().first { $0.id == dead }
    #expect(found?.state == .pending)
    try await after.storage.close()
  }

  @Test func aRowOfAnAccountThatIsNoneIsGivenBack() async throws {
    let scratch = try OutboxScratch()
    let id = try await scratch.add()
    try await scratch.storage.close()
    try Self.damage(scratch, "UPDATE outbox SET partition = 1000")
    let next = try OutboxScratch(in: scratch.folder)
    #expect(try await next.claim().map(\.entry.id) == [id])
    try await next.storage.close()
  }

  /// One bit makes of one account another one.
  @Test func aRowOfAnotherAccountIsNotSentForThat() async throws {
    let folder = try TemporaryFolder()
    let anna = try OutboxScratch(in: folder, partition: "anna")
    let bert = try OutboxScratch(in: folder, partition: "bert")
    try await anna.add("anna's")
    let own = try await bert.add("bert's")
    try await anna.storage.close()
    try await bert.storage.close()
    try anna.damage(
      "UPDATE outbox SET partition = (SELECT id FROM partitions WHERE name = 'bert')")
    let next = try OutboxScratch(in: folder, partition: "bert")
    #expect(try await next.claim(10).map(\.entry.id) == [own])
    try await next.storage.close()
  }

  @Test(arguments: ["last_number", "last_sequence"])
  func afterTheLastNumberThereAreOthers(_ column: String) async throws {
    let scratch = try OutboxScratch()
    let first = try await scratch.add()
    try await scratch.storage.close()
    let connection = try SQLiteConnection(path: scratch.path)
    _ = try connection.rowsOfText("UPDATE partitions SET \(column) = 9223372036854775807")
    try connection.close()
    let next = try OutboxScratch(in: scratch.folder)
    let second = try await next.add()
    for lease in try await next.claim(2) {
      #expect(try await next.outbox.settle(lease, OutboxScratch.success))
    }
    let ended = try next.outbox.history(of: "note", instance: "[]").map(\.id)
    #expect(ended == [first, second])
    try await next.storage.close()
  }
}
