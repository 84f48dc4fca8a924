import Foundation
import TestSupport
import Testing

@testable import Query

/// The rows of an index, which several readings of the outbox may change at once.
@Suite(.warningsAreIssues) struct OptimisticIndexRowsTests {
  private struct Declaration: EditDeclaration {
    let handler = MutationHandler(name: "", instance: "", version: 1, upgradesOlder: false)
    let declared = [DeclaredEdit]()

    func edits(of entry: OutboxEntry) -> [PlacedEdit]? { [] }
    func edits(withArguments arguments: any Sendable) -> [PlacedEdit] { [] }
  }

  private let id = UUID()

  private func log(
    _ state: RecordedMutation.State, sequence: Int64, endedAs end: Int64? = nil
  ) -> MutationLog {
    var record = RecordedMutation(
      id: self.id, number: 1, state: state, idempotencyKey: "key", version: 1, coder: "json",
      arguments: Data(), createdAt: Date(timeIntervalSince1970: 0))
    record.sequence = end
    return MutationLog(sequence: sequence, records: [record])
  }

  private func index() -> OptimisticIndex.Guarded {
    var index = OptimisticIndex.Guarded()
    let declaration = Declaration()
    index.declarations[declaration.handler.key] = .init(declaration)
    return index
  }

  @Test func theLaterOfTwoReadingsThatOverlapCounts() {
    var index = self.index()
    // Both began before either was taken.
    let stamp = index.stamp
    _ = index.take(
      self.log(.outbox(.pending, nil, nil), sequence: 0), [self.id: []], readAt: stamp)
    #expect(index.rows[self.id] != nil)
    _ = index.take(
      self.log(.outbox(.dead, nil, .rejected), sequence: 1), [self.id: []], readAt: stamp)
    #expect(index.rows[self.id]?.row.isDead == true)
    _ = index.take(
      self.log(.outbox(.leased, nil, nil), sequence: 1), [self.id: []], readAt: stamp)
    #expect(index.rows[self.id]?.row.standing == .running)
  }

  /// Which of two that overlap has read the newer state is not known. An end that one has found is final.
  @Test(arguments: [true, false]) func aReadingBringsNoEndedRowBack(_ isInHistory: Bool) {
    var index = self.index()
    let stamp = index.stamp
    let live = self.log(.outbox(.pending, nil, nil), sequence: 0)
    let ended =
      isInHistory
      ? self.log(.ended(.cancelled), sequence: 1) : MutationLog(sequence: 1, records: [])
    _ = index.take(live, [self.id: []], readAt: stamp)
    _ = index.take(ended, [:], readAt: stamp)
    #expect(index.rows[self.id] == nil)
    _ = index.take(live, [self.id: []], readAt: stamp)
    #expect(index.rows[self.id] == nil)
    // Once no such reading is left, it is forgotten.
    _ = index.take(ended, [:], readAt: index.stamp)
    #expect(index.removed.isEmpty)
  }

  @Test func aReadingThatBeganBeforeAChangeOfThisProgramDoesNotUndoIt() throws {
    var index = self.index()
    let stamp = index.stamp
    let record = self.log(.outbox(.pending, nil, nil), sequence: 0).records[0]
    let row = try #require(OptimisticRow(record, of: EditingMutation(Declaration().handler.key)))
    var change = RowChange(since: 0)
    index.insert(
      row, [], &change, at: index.nextStamp())
    _ = index.take(MutationLog(sequence: 0, records: []), [:], readAt: stamp)
    #expect(index.rows[self.id] != nil)
    index.remove(self.id)
    _ = index.take(
      self.log(.outbox(.pending, nil, nil), sequence: 0), [self.id: []], readAt: stamp)
    #expect(index.rows[self.id] == nil)
  }

  /// The row was sent and has ended before the call that enqueued it could hand it over.
  @Test func anEndCountsOfAReadingThatBeganBeforeTheRowWasKnown() throws {
    var index = self.index()
    let stamp = index.stamp
    let row = try #require(
      OptimisticRow(
        self.log(.outbox(.pending, nil, nil), sequence: 0).records[0],
        of: EditingMutation(Declaration().handler.key)))
    var change = RowChange(since: 0)
    index.insert(row, [], &change, at: index.nextStamp())
    let ended = self.log(.ended(.succeeded), sequence: 1, endedAs: 1)
    _ = index.take(ended, [self.id: []], readAt: stamp)
    // The next one begins after that end, and does not find the row.
    _ = index.take(MutationLog(sequence: 1, records: []), [:], readAt: index.stamp)
    #expect(index.rows[self.id]?.row.sequence == 1)
  }

  @Test func whatIsNotKnownHoldsAFoldBack() {
    var index = self.index()
    let others = [MutationLog.Other(sequence: 4, name: "other", instance: "")]
    _ = index.take(MutationLog(sequence: 9, records: [], others: others), [:], readAt: 0)
    index.didLoad(endedAfter: 0)
    #expect(index.foldingLimit(after: 0) == 3)
    #expect(index.foldingLimit(after: 3) == nil)
    #expect(index.foldingLimit(after: 4) == 9)
    #expect(index.foldingLimit(after: 9) == nil)
    index.foreign.remove(.init(others[0]))
    #expect(index.foldingLimit(after: 0) == 9)
    // Of more than are kept in memory the oldest hold all back that is older.
    for sequence in 1...Int64(Foreign.limit + 1) { index.noteForeign(sequence * 2, nil) }
    #expect(index.foldingLimit(after: 1) == nil)
  }

  @Test func whatAStoreNeedsIsReadUntilItIsThere() {
    var index = self.index()
    #expect(index.firstToRead == .max)
    _ = index.take(MutationLog(sequence: 9, records: []), [:], readAt: index.stamp)
    index.didLoad(endedAfter: 9)
    #expect(index.isWhole)
    #expect(index.firstToRead == 9)
    // A reading that fails, or that another one has overtaken, leaves it needed.
    index.neededAfter = 4
    #expect(!index.isWhole)
    #expect(index.firstToRead == 4)
    index.didLoad(endedAfter: 9)
    #expect(index.firstToRead == 4)
    index.didLoad(endedAfter: 4)
    #expect(index.isWhole)
    #expect(index.firstToRead == 9)
  }
}
