import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Replay §9: each attempt is told, and the table has only those that no other row tells.
@Suite struct AttemptRowTests {
  private let clock = BootClock()
  private let rows = "SELECT number || ' ' || coalesce(class, 'lost') FROM attempts ORDER BY number"

  @Test func oneThatRunsAndSucceedsIsTold() async throws {
    let scratch = try OutboxScratch { $0.outboxClock = self.clock.clock }
    let id = try await scratch.add()
    self.clock.advance(seconds: 10)
    let start = self.clock.clock.now().wall
    let lease = try #require(try await scratch.claim().first)
    #expect(try scratch.outbox.attempts(of: id) == [OutboxAttempt(number: 1, startedAt: start)])
    self.clock.advance(seconds: 5)
    #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    let ended = OutboxAttempt(
      number: 1, startedAt: start, endedAt: self.clock.clock.now().wall, outcome: "succeeded")
    #expect(try scratch.outbox.attempts(of: id) == [ended])
    #expect(try scratch.rows(self.rows) == [])
    try await scratch.storage.close()
  }

  @Test func oneThatFailedStaysAndThoseThatFollowAreTold() async throws {
    let scratch = try OutboxScratch { $0.outboxClock = self.clock.clock }
    let id = try await scratch.add()
    let first = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(first, OutboxScratch.failure(.now)))
    #expect(try scratch.rows(self.rows) == ["1 transient"])
    let second = try #require(try await scratch.claim().first)
    #expect(try scratch.outbox.attempts(of: id).map(\.outcome) == ["transient", nil])
    #expect(try await scratch.outbox.settle(second, OutboxScratch.success))
    #expect(try scratch.outbox.attempts(of: id).map(\.outcome) == ["transient", "succeeded"])
    #expect(try scratch.rows(self.rows) == ["1 transient"])
    try await scratch.storage.close()
  }

  @Test func oneThatWasLostIsTold() async throws {
    let scratch = try OutboxScratch { $0.outboxClock = self.clock.clock }
    let id = try await scratch.add()
    _ = try #require(try await scratch.claim().first)
    let start = self.clock.clock.now().wall
    // Given back when the storage closes.
    try await scratch.storage.close()
    #expect(try scratch.rows(self.rows) == ["1 lost"])
    let next = try OutboxScratch(in: scratch.folder) { $0.outboxClock = self.clock.clock }
    #expect(try next.outbox.attempts(of: id) == [OutboxAttempt(number: 1, startedAt: start)])
    try await next.storage.close()
  }
}
