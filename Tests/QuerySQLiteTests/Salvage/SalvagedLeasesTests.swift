import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// A salvage while attempts run: what a living process sends, no other one sends, and its end is recorded.
@Suite struct SalvagedLeasesTests {
  /// Overwrites the pages of tables and indexes while the file is open, so that the next to read them
  /// finds the damage.
  private func overwriteRoots(of names: String, in scratch: OutboxScratch) throws {
    let roots = try scratch.rows("SELECT rootpage FROM sqlite_schema WHERE name IN (\(names))")
      .compactMap { Int($0) }
    try #require(!roots.isEmpty)
    #expect(try scratch.rows("PRAGMA wal_checkpoint(TRUNCATE)").first?.hasPrefix("0") == true)
    let file = try #require(FileHandle(forUpdatingAtPath: scratch.path))
    defer { try? file.close() }
    for root in roots {
      try file.seek(toOffset: UInt64((root - 1) * 4_096))
      try file.write(contentsOf: Data(repeating: 0xa5, count: 4_096))
    }
    // What the process has in memory of the file is of an older commit.
    try scratch.damage("UPDATE clock SET probe = (probe = 0)")
  }

  /// Enqueues until the damage is found and the file is replaced.
  private func noticeDamage(_ scratch: OutboxScratch) async throws {
    _ = try? await scratch.add("new")
    _ = try? scratch.outbox.entries()
    _ = try? await scratch.add("newer")
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.folder.path)
    try #require(names.contains { $0.hasPrefix("mutations.sqlite.corrupt-") })
  }

  @Test func whatRunsWhenTheFileIsSalvagedIsNotGivenOutAgain() async throws {
    let scratch = try OutboxScratch()
    let id = try await scratch.add("pay")
    let lease = try #require(try await scratch.claim().first)
    try self.overwriteRoots(of: "'outbox_by_id'", in: scratch)
    try await self.noticeDamage(scratch)
    #expect(try await !scratch.claim(10).map(\.entry.id).contains(id))
    #expect(lease.revocation == nil)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    let record = try scratch.outbox.history(of: "note", instance: "[]").first { $0.id == id }
    #expect(record?.result == Data("ok".utf8))
    #expect(try scratch.outbox.entry(id) == nil)
    try await scratch.storage.close()
  }

  /// The row of an account has another number in the new file, and an erasure has come before.
  @Test func whatRunsIsSettledInAnAccountThatWasErasedOnce() async throws {
    let other = try OutboxScratch(partition: "other")
    try await other.add("other")
    let scratch = try OutboxScratch(in: other.folder, partition: "mine")
    try await scratch.add("erased")
    try await scratch.storage.erase()
    let id = try await scratch.add("pay")
    let lease = try #require(try await scratch.claim().first)
    try #require(lease.epoch > 0)
    try self.overwriteRoots(of: "'outbox_by_id'", in: scratch)
    try await self.noticeDamage(scratch)
    #expect(lease.revocation == nil)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.failure(.now)))
    let entry = try #require(try scratch.outbox.entry(id))
    #expect(entry.attempts == 1)
    #expect(entry.state == .pending)
    #expect(try await scratch.claim(10).map(\.entry.id).contains(id))
    try await scratch.storage.close()
    try await other.storage.close()
  }

  /// What cannot be read of it tells its attempt that it is lost.
  @Test func whatIsLostIsRevoked() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add("pay")
    let lease = try #require(try await scratch.claim().first)
    try self.overwriteRoots(of: "'outbox', 'outbox_by_id', 'outbox_leased'", in: scratch)
    try FileManager.default.removeItem(atPath: scratch.path)
    _ = try? await scratch.add("new")
    #expect(lease.revocation == .lost)
    #expect(try await !scratch.outbox.settle(lease, OutboxScratch.success))
    try await scratch.storage.close()
  }

  /// The ends of a new file go on behind those of the old one: what shows edits compares them.
  @Test(arguments: [1, 60])
  func theNextEndIsTheNewest(_ kept: Int) async throws {
    let limit = { (configuration: inout SQLiteQueryStorage.Configuration) in
      configuration.mutationHistory.perMutation = kept
    }
    let first = try OutboxScratch(limit)
    for number in 0..<30 {
      let enqueued = try await first.outbox.enqueue(
        OutboxScratch.mutation("\(number)"), claiming: true)
      _ = try await first.outbox.settle(try #require(enqueued.lease), OutboxScratch.success)
    }
    let before = try first.outbox.history(of: "note", instance: "[]")
    let newest = try #require(before.compactMap(\.sequence).max())
    try #require(newest >= 30)
    try first.damage("DELETE FROM migrations")
    try await first.storage.close()
    let next = try OutboxScratch(in: first.folder, limit)
    #expect(try next.outbox.history(of: "note", instance: "[]") == before)
    let enqueued = try await next.outbox.enqueue(OutboxScratch.mutation("next"), claiming: true)
    _ = try await next.outbox.settle(try #require(enqueued.lease), OutboxScratch.success)
    let after = try next.outbox.history(of: "note", instance: "[]")
    #expect(try #require(after.compactMap(\.sequence).max()) > newest)
    try await next.storage.close()
  }

  /// A flipped bit of one end makes no later one seem to be far away: what the history has forgotten goes by
  /// the distance.
  @Test func aSequenceThatIsDamagedIsNotContinued() async throws {
    let first = try OutboxScratch()
    for number in 1...3 {
      let enqueued = try await first.outbox.enqueue(
        OutboxScratch.mutation("\(number)"), claiming: true)
      _ = try await first.outbox.settle(try #require(enqueued.lease), OutboxScratch.success)
    }
    try first.damage("UPDATE history SET sequence = sequence + 1125899906842624 WHERE sequence = 2")
    try first.damage("DELETE FROM migrations")
    try await first.storage.close()
    let next = try OutboxScratch(in: first.folder)
    let enqueued = try await next.outbox.enqueue(OutboxScratch.mutation("next"), claiming: true)
    _ = try await next.outbox.settle(try #require(enqueued.lease), OutboxScratch.success)
    let sequences = try next.outbox.history(of: "note", instance: "[]").compactMap(\.sequence)
    #expect(sequences.sorted() == [1, 3, 4, 5])
    try await next.storage.close()
  }
}
