import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// An edit stays in the history until every value includes it, which is looked up for those alone that are
/// old enough to go.
extension OutboxTransactionPruningTests {
  /// Lets a mutation succeed.
  ///
  /// - Returns: The newest end of which the edits are to be looked up.
  private func succeed(hasEdit: Bool) throws -> Int64? {
    try self.change(MutationHistoryLimits(perMutation: 4, total: 0, days: 0, bytes: 0)) { changes in
      var mutation = OutboxScratch.mutation()
      if hasEdit { mutation.editedPaths = EditedPaths(text: #"["notes"]"#) }
      let lease = try changes.enqueue(mutation, claiming: true).lease
      let isSettled = try changes.settle(
        try #require(lease), OutboxScratch.success, effects: nil)
      #expect(isSettled)
    }
    .outcome.editsToCheck?.last
  }

  private func sequences() throws -> [String] {
    try self.connection.rowsOfText("SELECT sequence FROM history ORDER BY sequence")
  }

  @Test func editsAreLookedUpOnceTheyAreOld() throws {
    for _ in 0..<10 { #expect(try self.succeed(hasEdit: true) == nil) }
    self.clock.advance(seconds: 25 * 3_600)
    // All but the four newest.
    #expect(try self.succeed(hasEdit: true) == 7)
    #expect(try self.sequences().count == 11, "a value may lack them")
  }

  /// The first that has an edit keeps those behind it.
  @Test func whatHasNoEditGoesAheadOfThoseThatHave() throws {
    for number in 0..<10 { #expect(try self.succeed(hasEdit: number == 3) == nil) }
    self.clock.advance(seconds: 25 * 3_600)
    #expect(try self.succeed(hasEdit: false) == 7)
    #expect(try self.sequences() == (4...11).map { "\($0)" })
  }

  @Test func whatHasNoEditGoesWithoutALook() throws {
    for _ in 0..<10 { #expect(try self.succeed(hasEdit: false) == nil) }
    self.clock.advance(seconds: 25 * 3_600)
    #expect(try self.succeed(hasEdit: false) == nil)
    #expect(try self.sequences() == (8...11).map { "\($0)" })
  }

  // MARK: - What the cache must still be told

  /// Lets a mutation succeed.
  private func succeed(_ instance: String, editing path: String?, effects: String?) throws {
    try self.change(Self.unlimited) { changes in
      var mutation = OutboxScratch.mutation()
      mutation.instance = instance
      mutation.editedPaths = path.map { EditedPaths(text: $0) }
      let lease = try changes.enqueue(mutation, claiming: true).lease
      let isSettled = try changes.settle(
        try #require(lease), OutboxScratch.success, effects: effects)
      #expect(isSettled)
    }
  }

  private func clear(_ instance: String) throws -> OutboxTransaction {
    try self.change(Self.unlimited) {
      let isDone = try $0.clearHistory(of: "note", instance: instance, .rows(100))
      #expect(isDone)
    }
  }

  private func rows() throws -> [String] {
    try self.connection.rowsOfText(
      "SELECT sequence || instance || coalesce(effects, '') FROM history ORDER BY sequence")
  }

  @Test func whatRemovedRowsLeaveGoesToTheNewest() throws {
    try self.succeed("[1]", editing: #"["a"]"#, effects: #"["[\"b\"]"]"#)
    try self.succeed("[1]", editing: #"["a"]"#, effects: nil)
    try self.succeed("[1]", editing: nil, effects: #"["[\"c\"]"]"#)
    try self.succeed("[2]", editing: nil, effects: #"["[\"b\"]"]"#)
    let changes = try self.clear("[1]")
    #expect(changes.outcome.hasEffects)
    #expect(try self.rows() == [#"4[2]["[\"b\"]","[\"c\"]","@2 [\"a\"]"]"#])
  }

  @Test(arguments: [true, false])
  func theNewestOfAllStaysForItsEffectsInNoHistory(hasEdit: Bool) throws {
    try self.succeed("[2]", editing: nil, effects: nil)
    try self.succeed(
      "[1]", editing: hasEdit ? #"["a"]"# : nil, effects: hasEdit ? nil : #"["[\"b\"]"]"#)
    _ = try self.clear("[1]")
    #expect(try self.rows() == ["1[2]", "2" + (hasEdit ? #"["@2 [\"a\"]"]"# : #"["[\"b\"]"]"#)])
    _ = try self.clear("[1]")
    #expect(try self.rows().count == 2)
    // A later one takes its effects, and it goes.
    try self.succeed("[2]", editing: nil, effects: nil)
    _ = try self.clear("")
    #expect(try self.rows().map { $0.prefix(4) } == ["1[2]", "3[2]"])
    #expect(try self.rows().last?.count ?? 0 > 4)
  }

  @Test func effectsThatWereAddedMeanwhileAreNotCleared() throws {
    try self.succeed("[1]", editing: nil, effects: "[]")
    for (effects, left) in [("other", "1[1][]"), ("[]", "1[1]")] {
      try self.connection.write {
        try self.connection.execute(HistoryRow.clearEffects, Int64(1), effects)
      }
      #expect(try self.rows() == [left])
    }
  }
}
