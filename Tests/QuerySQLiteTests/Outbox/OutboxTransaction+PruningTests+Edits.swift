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
}
