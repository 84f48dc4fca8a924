import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Replay §4: a lease lives as long as its process, or until a caller ends it.
@Suite struct OutboxHeartbeatTests {
  private func scratch() throws -> OutboxScratch {
    try OutboxScratch { $0.leaseLength = .milliseconds(150) }
  }

  /// What revokes a lease.
  private func revocation(of lease: MutationLease) async -> MutationLease.Revocation? {
    while lease.revocation == nil { await Task.yield() }
    return lease.revocation
  }

  @Test func aLeaseIsExtendedThoughTasksBlockAllThreads() async throws {
    let scratch = try self.scratch()
    try await scratch.add()
    let lease = try #require(try await scratch.claim().first)
    let ends = "SELECT lease_end_monotonic FROM outbox"
    var seen = Set(try scratch.rows(ends))
    while seen.count < 5 {
      usleep(1_000)
      seen.formUnion(try scratch.rows(ends))
    }
    #expect(lease.revocation == nil)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    try await scratch.storage.close()
  }

  @Test func aRequestToCancelIsSeen() async throws {
    let scratch = try self.scratch()
    let id = try await scratch.add()
    let lease = try #require(try await scratch.claim().first)
    try scratch.damage("UPDATE outbox SET is_cancel_requested = 1")
    #expect(await self.revocation(of: lease) == .cancelRequested)
    // Whatever it failed with.
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.failure(.now)))
    #expect(try scratch.outbox.entry(id) == nil)
    let record = try scratch.outbox.history(of: "note", instance: "[]").first
    #expect(record?.state == .ended(.cancelled))
    try await scratch.storage.close()
  }

  @Test func aLeaseThatAnotherProcessTookIsLost() async throws {
    let scratch = try self.scratch()
    try await scratch.add()
    let lease = try #require(try await scratch.claim().first)
    try scratch.damage(
      "UPDATE outbox SET lease_token = lease_token + 1, lease_owner = 'another'")
    #expect(await self.revocation(of: lease) == .lost)
    #expect(try await !scratch.outbox.settle(lease, OutboxScratch.success))
    #expect(try scratch.outbox.counts.rows == OutboxCounts(leased: 1))
    try await scratch.storage.close()
  }
}
