import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Replay §3: rows that wait for others go on, or die, a little in each transaction, and what a crash has
/// left is done by the process that opens the file next.
@Suite struct OutboxTransactionWaitingTests {
  private let folder: TemporaryFolder
  private let connection: SQLiteConnection
  private let clock = BootClock()

  /// As many as a transaction lets go, and as many again, and some.
  private static let count = 2 * OutboxTransaction.releasedAtOnce + 22

  init() throws {
    self.folder = try TemporaryFolder()
    var opener = DatabaseOpener(.mutations, in: self.folder)
    opener.options.keepsReferences = false
    self.connection = try opener.openWriter()
  }

  /// Changes the partition in a transaction.
  @discardableResult
  private func change(
    _ body: (inout OutboxTransaction) throws -> Void
  ) throws -> OutboxTransaction.Outcome {
    try self.connection.write {
      let terms = OutboxTransaction.Terms(
        owner: "owner", leases: [:], leaseLength: .seconds(30), limits: MutationHistoryLimits(),
        reaper: OutboxReaper(folder: self.folder.path), synchronisedAt: nil, isHistoryAgeDue: false)
      var changes = try OutboxTransaction(
        partitionNamed: "", on: self.connection, terms, handlers: nil, self.clock.clock.now())
      try body(&changes)
      try changes.finish()
      return changes.outcome
    }
  }

  private func settle(
    _ lease: MutationLease, _ outcome: AttemptOutcome
  ) throws -> OutboxTransaction.Outcome {
    try self.change { changes in
      let isSettled = try changes.settle(lease, outcome, effects: nil)
      #expect(isSettled)
    }
  }

  private func number(_ sql: String) throws -> Int {
    try #require(try self.connection.rowsOfText(sql).first.flatMap { Int($0) })
  }

  private func ready() throws -> Int {
    try self.number("SELECT count(*) FROM lane_heads WHERE state = 'ready'")
  }

  private func dead() throws -> Int {
    try self.number("SELECT count(*) FROM outbox WHERE dead_reason = 'dependency'")
  }

  /// A row that others depend on, and is leased.
  private func addTarget() throws -> MutationLease {
    var lease: MutationLease?
    try self.change { changes in
      lease = try changes.enqueue(OutboxScratch.mutation("target"), claiming: true).lease
      for number in 0..<Self.count {
        let mutation = OutboxScratch.mutation(
          "\(number)", lane: "\(number)", after: [try #require(lease).entry.id])
        _ = try changes.enqueue(mutation, claiming: false)
      }
    }
    return try #require(lease)
  }

  /// A row that is leased, and others behind it that wait for an alias.
  private func addPublisher() throws -> MutationLease {
    var publisher: MutationLease?
    try self.change { changes in
      publisher = try changes.enqueue(OutboxScratch.mutation("publisher"), claiming: true).lease
      for number in 0..<Self.count {
        let mutation = OutboxScratch.mutation("\(number)")
        let lease = try changes.enqueue(mutation, claiming: true).lease
        let wait = OutboxScratch.failure(.waitForAlias("x"))
        let isSettled = try changes.settle(try #require(lease), wait, effects: nil)
        #expect(isSettled)
      }
    }
    return try #require(publisher)
  }

  private func left() throws -> [OutboxChores.Chore] {
    try OutboxChores.Chore.left(in: 1, on: self.connection)
  }

  @Test func theSuccessOfOneLetsManyGoInSteps() throws {
    let lease = try self.addTarget()
    let outcome = try self.settle(lease, OutboxScratch.success)
    let target = Int64(lease.entry.number)
    #expect(outcome.targetsLeft == [target])
    #expect(try self.left() == [.releaseDependants(of: target)])
    var ready = try self.ready()
    #expect(ready == OutboxTransaction.releasedAtOnce)
    #expect(try self.number("SELECT count(*) FROM lane_heads") == Self.count)
    var (steps, isDone) = (0, false)
    while !isDone {
      let outcome = try self.change { try $0.releaseDependants(of: target, .rows(30)) }
      isDone = outcome.targetsLeft == []
      #expect(try self.ready() - ready <= 30)
      (ready, steps) = (try self.ready(), steps + 1)
    }
    #expect(ready == Self.count && steps == 3)
    #expect(try self.left() == [])
    #expect(try self.number("SELECT count(*) FROM dependencies") == 0)
  }

  @Test func theEndOfOneWithoutASuccessKillsManyAndTheNextOpeningGoesOn() async throws {
    let lease = try self.addTarget()
    let outcome = try self.settle(lease, .cancelled(maybeApplied: false))
    let target = Int64(lease.entry.number)
    #expect(outcome.targetsLeft == [target])
    #expect(try self.dead() == OutboxTransaction.releasedAtOnce)
    #expect(try self.ready() == 0, "none goes on whose target has not succeeded")
    try self.change { try $0.releaseDependants(of: target, .spent) }
    #expect(try self.dead() == OutboxTransaction.releasedAtOnce + 1)
    try self.connection.close()
    let scratch = try OutboxScratch(in: self.folder) { $0.stepRows = 10 }
    while try scratch.outbox.counts.dead < Self.count { await Task.yield() }
    while try scratch.rows("SELECT count(*) FROM dependencies") != ["0"] { await Task.yield() }
    #expect(try scratch.outbox.counts.rows == OutboxCounts(dead: Self.count))
    try await scratch.storage.close()
  }

  @Test func anAliasThatIsPublishedLetsManyGoInSteps() throws {
    let lease = try self.addPublisher()
    let success = SuccessfulAttempt(result: nil, aliases: ["x": "1"])
    let outcome = try self.settle(lease, .succeeded(success))
    #expect(outcome.aliasesLeft == ["x"])
    #expect(try self.left() == [.releaseWaiting(for: "x"), .endVainWaits])
    var ready = try self.ready()
    #expect(ready == OutboxTransaction.releasedAtOnce)
    // Those that wait do so for what is there, and no one before them is needed for it.
    try self.change { try $0.endVainWaits(.rows(1_000)) }
    #expect(try self.dead() == 0)
    var isDone = false
    while !isDone {
      isDone = try self.change { try $0.releaseWaiting(for: "x", .rows(30)) }.aliasesLeft == []
      #expect(try self.ready() - ready <= 30)
      ready = try self.ready()
    }
    #expect(ready == Self.count)
    #expect(try self.left() == [])
  }

  @Test func manyThatWaitInVainDieInStepsAndTheNextOpeningGoesOn() async throws {
    let lease = try self.addPublisher()
    let outcome = try self.settle(lease, OutboxScratch.success)
    #expect(outcome.hasVainWaitsLeft)
    #expect(try self.dead() == OutboxTransaction.releasedAtOnce)
    #expect(try self.ready() == 0)
    #expect(try self.left() == [.endVainWaits])
    try self.connection.close()
    let scratch = try OutboxScratch(in: self.folder) { $0.stepRows = 10 }
    while try scratch.outbox.counts.dead < Self.count { await Task.yield() }
    #expect(try scratch.outbox.counts.rows == OutboxCounts(dead: Self.count))
    try await scratch.storage.close()
  }
}
