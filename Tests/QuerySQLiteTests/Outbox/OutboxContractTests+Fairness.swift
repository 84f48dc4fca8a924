import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

// MARK: - Whose turn it is

extension OutboxContractTests {
  /// Leases one, and lets it fail.
  private func fail(
    _ trial: OutboxTrial, _ next: FailedAttempt.Next, slots: HostSlots = HostSlots(others: .max)
  ) async throws -> UUID? {
    guard let lease = try await trial.claim(limit: 1, slots: slots).leases.first else { return nil }
    _ = try await trial.outbox.settle(lease, .failure(next))
    return lease.entry.id
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatWasNeverTriedGoesBeforeWhatWas(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let failing = [try await trial.add(), try await trial.add(), try await trial.add()]
    for id in failing { #expect(try await self.fail(trial, .wait(.backoff, .seconds(1))) == id) }
    trial.clock.advance(by: .seconds(60))
    let new = [try await trial.add(), try await trial.add()]
    #expect(try await trial.claimed() == new + failing)
  }

  /// Twenty that fail whenever they are tried, with waits shorter than a round.
  @Test(arguments: StorageUnderTest.withOutbox)
  func repeatsTakeTurnsByTheTimeSinceWhichTheyAreDue(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<20 { ids.append(try await trial.add()) }
    for round in 0..<3 {
      for id in ids {
        #expect(try await self.fail(trial, .wait(.backoff, .seconds(1))) == id, "round \(round)")
        trial.clock.advance(by: .seconds(5))
      }
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox, [FailedAttempt.Next.now, .waitForCredentials])
  func whatIsDueAtOnceDoesNotPassTheOthers(
    _ kind: StorageUnderTest, _ next: FailedAttempt.Next
  ) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<4 { ids.append(try await trial.add()) }
    for _ in 0..<3 {
      for id in ids {
        #expect(try await self.fail(trial, next) == id)
        trial.clock.advance(by: .seconds(1))
        try await trial.outbox.release(.authentication)
      }
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func oneRepeatMayGoFirst(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    func add(_ host: String) async throws -> UUID { try await trial.add { $0.host = host } }
    let old = [try await add("a"), try await add("a"), try await add("b")]
    for _ in old { _ = try await self.fail(trial, .wait(.backoff, .seconds(1))) }
    trial.clock.advance(by: .seconds(1))
    let new = [try await add("a"), try await add("b"), try await add("b")]
    var slots = HostSlots(["b": 1], others: 10)
    slots.repeatsFirst = ["a"]
    #expect(
      try await trial.claim(slots: slots).leases.map(\.entry.id) == [
        old[0], new[0], new[1], old[1],
      ])
  }

  /// Waits of an earlier boot are over, or are measured anew.
  @Test func repeatsKeepTheirTurnsAfterTheirBoot() async throws {
    let folder = try TemporaryFolder()
    let clock = BootClock()
    var scratch = try OutboxScratch(in: folder) { $0.outboxClock = clock.clock }
    for text in ["a", "b"] { try await scratch.add(text) }
    let leases = try await scratch.claim(2)
    for lease in leases.reversed() {
      _ = try await scratch.outbox.settle(
        lease, OutboxScratch.failure(.wait(.backoff, .seconds(9))))
      clock.advance(seconds: 1)
    }
    try await scratch.storage.close()
    clock.edit { time in
      time.bootID = "boot-b"
      (time.boottime, time.monotonic) = (5_000_000, 5_000_000)
      time.wall += 5
    }
    scratch = try OutboxScratch(in: folder) { $0.outboxClock = clock.clock }
    try await scratch.add("c")
    clock.advance(seconds: 20)
    let texts = try await scratch.claim(3).map {
      String(decoding: $0.entry.arguments, as: UTF8.self)
    }
    #expect(texts == ["c", "b", "a"])
    try await scratch.storage.close()
  }
}
