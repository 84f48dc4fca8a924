import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct CacheChangesMarkingTests {
  private let cache: CacheScratch

  init() throws {
    self.cache = try CacheScratch()
    for number in 0..<5 { try self.cache.write(.sample(number), .sample(number)) }
  }

  private func uses() throws -> [String] {
    try self.cache.connection.rowsOfText("SELECT last_use FROM entries ORDER BY id")
  }

  private func invalidated() throws -> [String] {
    try self.cache.connection.rowsOfText("SELECT invalidated_at FROM entries ORDER BY id")
  }

  @Test func usesAreNumbersOfTheSameCounter() throws {
    #expect(try self.uses() == ["NULL", "NULL", "NULL", "NULL", "NULL"])
    let used = [3, 77, 0, 3].map { QueryIdentity.sample($0) }
    try self.cache.change { try $0.recordUses(used, .rows(.max)) }
    #expect(try self.uses() == ["7", "NULL", "NULL", "8", "NULL"])
    #expect(
      try self.cache.write(.sample(9), .sample(1)) == .updated(revision: 9, bytes: 0))
    try self.cache.write(.sample(9), .sample(3))
    #expect(try self.uses() == ["7", "NULL", "NULL", "8", "NULL"])
  }

  @Test func aUseThatHardlyChangesTheOrderIsNoChange() throws {
    for number in 5..<40 { try self.cache.write(.sample(number), .sample(number)) }
    let frames = try self.cache.frames {
      try self.cache.change { _ = try $0.recordUses([.sample(35), .sample(39)], .rows(.max)) }
    }
    #expect(frames == 0)
    try self.cache.change { _ = try $0.recordUses([.sample(34), .sample(34)], .rows(.max)) }
    #expect(try self.uses()[34] == "41")
    #expect(try self.cache.tables.readPartition().revision == 41)
  }

  @Test func aUseOfNothingIsNoChange() throws {
    let frames = try self.cache.frames {
      try self.cache.change { _ = try $0.recordUses([.sample(77)], .rows(.max)) }
    }
    #expect(frames == 0)
  }

  @Test func entriesUnderAPathAreInvalidatedWithRevisionsOfTheirOwn() throws {
    let other = try QueryIdentity(path: ["samples"])
    try self.cache.write(.sample(1), other)
    let before = try self.cache.tables.readPartition().revision
    let prefix = IdentityCursor(try IdentityPrefix(path: ["sample"]))
    let first = try self.cache.change { try $0.invalidate(from: prefix, at: 9, .rows(.max)) }
    #expect(first.marked == 5 && first.next == nil)
    #expect(try self.invalidated() == ["9", "9", "9", "9", "9", "0"])
    #expect(
      try self.cache.tables.changes(after: before).map(\.revision)
        == (1...5).map { before + $0 })
    #expect(try self.cache.entry(.sample(2))?.history.isInvalidated == true)
    #expect(
      try self.cache.change { try $0.invalidate(from: prefix, at: 9, .rows(.max)) }.marked == 0)
    #expect(try self.cache.tables.readPartition().revision == before + 5)
    // A fetch may have begun since.
    #expect(
      try self.cache.change { try $0.invalidate(from: prefix, at: 10, .rows(.max)) }.marked == 5)
  }

  @Test func manyAreInvalidatedInSeveralTransactions() throws {
    let prefix = IdentityCursor(try IdentityPrefix(path: []))
    var cursor: IdentityCursor? = prefix
    var marked = [Int]()
    while let after = cursor {
      let result = try self.cache.change {
        try $0.invalidate(from: after, at: 1, .rows(2))
      }
      marked.append(result.marked)
      cursor = result.next
    }
    #expect(marked == [2, 2, 1])
    #expect(try self.invalidated() == ["1", "1", "1", "1", "1"])
  }

  /// What follows an invalidation waits between two transactions.
  @Test func noTransactionFollowsWhereNothingIsLeft() throws {
    let prefix = IdentityCursor(try IdentityPrefix(path: []))
    let all = try self.cache.change { try $0.invalidate(from: prefix, at: 1, .rows(5)) }
    #expect(all.marked == 5 && all.next == nil)
    let some = try self.cache.change { try $0.invalidate(from: prefix, at: 2, .rows(4)) }
    let rest = try self.cache.change {
      try $0.invalidate(from: try #require(some.next), at: 2, .rows(4))
    }
    #expect(some.marked == 4 && rest.marked == 1 && rest.next == nil)
    #expect(try self.invalidated() == ["2", "2", "2", "2", "2"])
  }

  @Test func aSpentBudgetEndsATransactionAfterOneEntry() throws {
    let prefix = IdentityCursor(try IdentityPrefix(path: []))
    let first = try self.cache.change { try $0.invalidate(from: prefix, at: 1, .spent) }
    #expect(first.marked == 1)
    let rest = try self.cache.change {
      try $0.invalidate(from: try #require(first.next), at: 1, .rows(.max))
    }
    #expect(rest.marked == 4 && rest.next == nil)
    let used = (0..<5).map { QueryIdentity.sample($0) }
    let recorded = try self.cache.change { changes in try changes.recordUses(used, .spent) }
    #expect(recorded == 1)
  }
}
