import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Replay §9: what is beyond the limits of the history goes, a little in each transaction.
@Suite struct OutboxTransactionPruningTests {
  private let folder: TemporaryFolder
  let connection: SQLiteConnection
  let clock = BootClock()

  init() throws {
    self.folder = try TemporaryFolder()
    self.connection = try DatabaseOpener(.mutations, in: self.folder).openWriter()
  }

  /// Changes the partition in a transaction.
  @discardableResult
  func change(
    _ limits: MutationHistoryLimits, isAgeDue: Bool = false, name: String = "",
    _ body: (inout OutboxTransaction) throws -> Void
  ) throws -> OutboxTransaction {
    try self.connection.write {
      let terms = OutboxTransaction.Terms(
        owner: "owner", leases: [:], leaseLength: .seconds(30), limits: limits,
        reaper: OutboxReaper(folder: self.folder.path), synchronisedAt: nil,
        isHistoryAgeDue: isAgeDue)
      var changes = try OutboxTransaction(
        partitionNamed: name, on: self.connection, terms, handlers: nil, self.clock.clock.now())
      try body(&changes)
      try changes.finish()
      return changes
    }
  }

  static let unlimited = MutationHistoryLimits(perMutation: 0, total: 0, days: 0, bytes: 0)

  /// Lets a mutation end, with an attempt that failed before.
  private func end(
    _ text: String, _ limits: MutationHistoryLimits = Self.unlimited, isAgeDue: Bool = false,
    instance: String = "[]", name: String = ""
  ) throws -> OutboxTransaction {
    try self.change(limits, isAgeDue: isAgeDue, name: name) { changes in
      var mutation = OutboxScratch.mutation(text)
      mutation.instance = instance
      let enqueued = try changes.enqueue(mutation, claiming: true)
      try Self.settle(enqueued.lease, OutboxScratch.failure(.now), &changes)
      let answer = try changes.claim(ClaimRequest(.mutation(mutation.id)))
      try Self.settle(answer.leases.first, OutboxScratch.success, &changes)
    }
  }

  private static func settle(
    _ lease: MutationLease?, _ outcome: AttemptOutcome, _ changes: inout OutboxTransaction
  ) throws {
    let isSettled = try changes.settle(try #require(lease), outcome, effects: nil)
    #expect(isSettled)
  }

  private func texts(_ name: String = "") throws -> [String] {
    try self.connection.rowsOfText(
      """
      SELECT CAST(arguments AS TEXT) FROM history AS h JOIN partitions AS p ON p.id = h.partition
      WHERE p.name = '\(name)' ORDER BY sequence
      """)
  }

  /// Whether the counts are those of the rows, and no attempt has lost its mutation.
  private func expectSound() throws {
    #expect(
      try self.connection.rowsOfText(
        """
        SELECT p.name FROM partitions AS p
        WHERE history_count <> (SELECT count(*) FROM history WHERE partition = p.id)
          OR history_bytes <> (
            SELECT coalesce(sum(byte_count), 0) FROM history WHERE partition = p.id)
        """) == [])
    #expect(
      try self.connection.rowsOfText(
        "SELECT id FROM attempts WHERE mutation NOT IN (SELECT id FROM history)") == [])
  }

  /// A release that lowers a limit: the next end removes some rows, and transactions after it the rest.
  @Test func aLowerLimitIsReachedInSteps() throws {
    for number in 0..<200 {
      _ = try self.end("\(number)", instance: "[\(number)]")
      if number % 3 == 0 { _ = try self.end("other \(number)", name: "other") }
    }
    let limits = MutationHistoryLimits(perMutation: 0, total: 5, days: 0, bytes: 0)
    var changes = try self.end("last", limits)
    #expect(changes.outcome.mustPrune)
    var counts = [try self.texts().count]
    while changes.outcome.mustPrune {
      changes = try self.change(limits) { try $0.pruneStep(.rows(1)) }
      counts.append(try self.texts().count)
      #expect(!changes.outcome.isChanged, "nobody is told")
    }
    let batch = OutboxTransaction.prunedAtOnce
    #expect(counts == [201 - batch, 201 - 2 * batch, 201 - 3 * batch, 5])
    #expect(try self.texts() == ["196", "197", "198", "199", "last"])
    #expect(try self.texts("other").count == 67)
    try self.expectSound()
    // From then on each end removes one.
    changes = try self.end("next", limits)
    #expect(!changes.outcome.mustPrune)
    #expect(try self.texts() == ["197", "198", "199", "last", "next"])
    try self.expectSound()
  }

  @Test func aStepGoesOnUntilItsBudgetIsSpent() throws {
    for number in 0..<200 { _ = try self.end("\(number)", instance: "[\(number)]") }
    let limits = MutationHistoryLimits(perMutation: 0, total: 5, days: 0, bytes: 0)
    let changes = try self.change(limits) { try $0.pruneStep(.rows(1_000)) }
    #expect(!changes.outcome.mustPrune)
    #expect(try self.texts() == (195..<200).map { "\($0)" })
    try self.expectSound()
  }

  /// An end that removes one row changes as many pages as one that removes some.
  @Test func aFewMoreThanTheTotalAreKeptUntilTheyGoTogether() throws {
    let limits = MutationHistoryLimits(perMutation: 0, total: 100, days: 0, bytes: 0)
    var counts = [Int]()
    for number in 0..<104 {
      _ = try self.end("\(number)", limits, instance: "[\(number)]")
      counts.append(try self.texts().count)
    }
    #expect(counts == Array(1...102) + [100, 101])
    try self.expectSound()
  }

  @Test func stepsThatHaveBegunLeaveNoMoreThanTheTotal() throws {
    let limits = MutationHistoryLimits(perMutation: 0, total: 100, days: 0, bytes: 0)
    // After whole batches there is one more than the total, which an end would leave.
    let count = 101 + OutboxTransaction.prunedAtOnce
    for number in 1..<count { _ = try self.end("\(number)", instance: "[\(number)]") }
    var changes = try self.end("last", limits)
    #expect(try self.texts().count == 101)
    while changes.outcome.mustPrune {
      changes = try self.change(limits) { try $0.pruneStep(.rows(1)) }
    }
    #expect(try self.texts().count == 100)
    try self.expectSound()
  }

  /// Counts of a damaged file are not looked for again and again.
  @Test func countsOfRowsThatAreNotThereAreMended() throws {
    for number in 0..<3 { _ = try self.end("\(number)", instance: "[\(number)]") }
    _ = try self.connection.rowsOfText("UPDATE partitions SET history_count = 1000")
    let limits = MutationHistoryLimits(perMutation: 0, total: 5, days: 0, bytes: 0)
    var (changes, steps) = (try self.end("last", limits), 0)
    while changes.outcome.mustPrune, steps < 10 {
      changes = try self.change(limits) { try $0.pruneStep(.rows(1)) }
      steps += 1
    }
    #expect(!changes.outcome.mustPrune)
  }

  @Test func largeRowsAreFewerInOneTransaction() throws {
    let large = String(repeating: "x", count: 400_000)
    for number in 0..<10 { _ = try self.end(large, instance: "[\(number)]") }
    let limits = MutationHistoryLimits(perMutation: 0, total: 0, days: 0, bytes: 1_000)
    var changes = try self.end("last", limits)
    #expect(try self.texts().count == 11 - 3)
    while changes.outcome.mustPrune {
      changes = try self.change(limits) { try $0.pruneStep(.rows(1)) }
    }
    #expect(try self.texts() == ["last"])
    try self.expectSound()
  }

  @Test func eachEndOfAMutationRemovesSomeOfTooMany() throws {
    for number in 0..<150 { _ = try self.end("\(number)") }
    self.clock.advance(seconds: 86_400)
    let limits = MutationHistoryLimits(perMutation: 4, total: 0, days: 0, bytes: 0)
    var counts = [Int]()
    for number in 150..<154 {
      _ = try self.end("\(number)", limits)
      counts.append(try self.texts().count)
      try self.expectSound()
    }
    let batch = OutboxTransaction.prunedAtOnce
    #expect(counts == [151 - batch, 152 - 2 * batch, 4, 5])
    #expect(try self.texts() == (149..<154).map { "\($0)" })
  }

  @Test func whatIsTooOldGoesInSteps() throws {
    for number in 0..<150 { _ = try self.end("\(number)", instance: "[\(number)]") }
    self.clock.advance(seconds: 3 * 86_400)
    let limits = MutationHistoryLimits(perMutation: 0, total: 0, days: 2, bytes: 0)
    var changes = try self.end("last", limits, isAgeDue: true)
    #expect(changes.outcome.mustPruneByAge && changes.outcome.hasPrunedByAge)
    #expect(try self.texts().count == 151 - OutboxTransaction.prunedAtOnce)
    changes = try self.change(limits) { try $0.pruneOldHistory(.spent) }
    #expect(changes.outcome.mustPruneByAge)
    #expect(try self.texts().count == 150 - OutboxTransaction.prunedAtOnce)
    while changes.outcome.mustPruneByAge {
      changes = try self.change(limits) { try $0.pruneOldHistory(.rows(10)) }
    }
    #expect(try self.texts() == ["last"])
    try self.expectSound()
  }

  @Test func oldAliasesGoInSteps() throws {
    _ = try self.end("first")
    try self.change(Self.unlimited) { changes in
      for number in 0..<25 { try changes.publish(["\(number)": "value"], by: UUID()) }
    }
    self.clock.advance(seconds: 3 * 86_400)
    let limits = MutationHistoryLimits(perMutation: 0, total: 0, days: 2, bytes: 0)
    _ = try self.end("last")
    var counts = [Int]()
    var changes: OutboxTransaction
    repeat {
      changes = try self.change(limits) { try $0.pruneOldHistory(.rows(10)) }
      counts.append(
        try self.connection.first("SELECT count(*) FROM aliases") { Int(try $0.integer(at: 0)) }
          ?? 0)
    } while changes.outcome.mustPruneByAge
    #expect(counts == [15, 5, 0])
  }

  @Test func clearingIsDoneInStepsThatCanBeCutShort() throws {
    for number in 0..<5 { _ = try self.end("\(number)") }
    _ = try self.end("other", instance: "[1]")
    var isDone = true
    try self.change(Self.unlimited) {
      isDone = try $0.clearHistory(of: "note", instance: "[]", .spent)
    }
    #expect(!isDone)
    #expect(try self.texts() == ["1", "2", "3", "4", "other"])
    try self.change(Self.unlimited) {
      isDone = try $0.clearHistory(of: "note", instance: "[]", .rows(100))
    }
    #expect(isDone)
    #expect(try self.texts() == ["other"])
    try self.expectSound()
  }

  @Test func releasingIsDoneInStepsThatCanBeCutShort() throws {
    for number in 0..<5 {
      try self.change(Self.unlimited) { changes in
        let enqueued = try changes.enqueue(OutboxScratch.mutation("\(number)"), claiming: true)
        try Self.settle(enqueued.lease, OutboxScratch.failure(.waitForCredentials), &changes)
      }
    }
    var steps = [Int]()
    var next: Int64? = 0
    while let last = next {
      let changes = try self.change(Self.unlimited) {
        next = try $0.release(.authentication, after: last, steps.isEmpty ? .spent : .rows(3))
      }
      #expect(changes.partition.credentialsEpoch == 1, "the credentials have changed once")
      steps.append(
        try self.connection.first("SELECT count(*) FROM outbox WHERE wait_reason = 'backoff'") {
          Int(try $0.integer(at: 0))
        } ?? 0)
    }
    #expect(steps == [1, 4, 5])
  }

  /// The rest goes on the writing thread, while nobody asks for anything.
  @Test func theWriterDoesTheRestByItself() async throws {
    for number in 0..<300 { _ = try self.end("\(number)", instance: "[\(number)]") }
    try self.connection.close()
    let scratch = try OutboxScratch(in: self.folder) {
      $0.mutationHistory = MutationHistoryLimits(total: 5, days: 0)
      $0.stepRows = 1
    }
    try await scratch.add("last")
    let lease = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    func count() throws -> Int {
      try scratch.rows("SELECT count(*) FROM history").first.flatMap { Int($0) } ?? 0
    }
    while try count() > 5 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(
      try scratch.rows("SELECT CAST(arguments AS TEXT) FROM history ORDER BY sequence")
        == ["296", "297", "298", "299", "last"])
    #expect(try scratch.rows("SELECT history_count FROM partitions") == ["5"])
    try await scratch.storage.close()
  }
}
