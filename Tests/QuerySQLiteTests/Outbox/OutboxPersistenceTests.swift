import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// What an outbox on disk has after a restart, and what it shares.
@Suite struct OutboxPersistenceTests {
  @Test func whatWasEnqueuedIsThereAfterARestartInItsOrder() async throws {
    let first = try OutboxScratch()
    let ids = [
      try await first.add("a", lane: "l"), try await first.add("b", lane: "l"),
      try await first.add("c"),
    ]
    try await first.storage.close()
    let second = try OutboxScratch(in: first.folder)
    let entries = try second.outbox.entries()
    #expect(entries.map(\.id) == ids)
    #expect(entries.map(\.waitReason) == [nil, .predecessor, nil])
    #expect(try second.outbox.counts.rows == OutboxCounts(pending: 3))
    let leases = try await second.claim(10)
    #expect(leases.map(\.entry.id) == [ids[0], ids[2]])
    #expect(leases.allSatisfy { $0.isReplay && $0.entry.attempts == 1 })
    try await second.storage.close()
  }

  @Test func restartedFiveTimesDuringABackoffAttemptsTimeAndKeyStay() async throws {
    let clock = BootClock()
    let first = try OutboxScratch { $0.outboxClock = clock.clock }
    let id = try await first.add()
    let failed = FailedAttempt(
      error: RestoredError(typeName: "", text: "busy"), outcome: "transient", isCharged: true,
      maybeApplied: true, next: .wait(.backoff, .seconds(100)))
    #expect(
      try await first.outbox.settle(try #require(try await first.claim().first), .failed(failed)))
    let before = try #require(try first.outbox.entry(id))
    let due = Date(timeIntervalSince1970: 1_700_000_100)
    #expect(before.nextAttemptAt == due)
    try await first.storage.close()
    for restart in 1...5 {
      clock.advance(seconds: 10)
      let next = try OutboxScratch(in: first.folder) { $0.outboxClock = clock.clock }
      let entry = try #require(try next.outbox.entry(id))
      #expect(entry.attempts == 1)
      #expect(entry.failures == 1)
      #expect(entry.idempotencyKey == before.idempotencyKey)
      #expect(entry.nextAttemptAt == due, "restart \(restart)")
      #expect(entry.waitReason == .backoff)
      #expect(try await next.claim().isEmpty)
      try await next.storage.close()
    }
    clock.advance(seconds: 50)
    let last = try OutboxScratch(in: first.folder) { $0.outboxClock = clock.clock }
    #expect(try await last.claim().map(\.entry.id) == [id])
    try await last.storage.close()
  }

  @Test func argumentsThatAreTooLargeAreRefusedAndNothingIsKept() async throws {
    let scratch = try OutboxScratch { $0.maximumValueBytes = 1_000 }
    await #expect(throws: StorageError.self) {
      try await scratch.add(String(repeating: "x", count: 1_001))
    }
    #expect(try scratch.outbox.counts.rows == OutboxCounts())
    try await scratch.add(String(repeating: "x", count: 1_000))
    #expect(try scratch.outbox.counts.rows == OutboxCounts(pending: 1))
    try await scratch.storage.close()
  }

  @Test func whatRanWhenTheStorageWasClosedIsPendingAndMaybeApplied() async throws {
    let first = try OutboxScratch()
    let id = try await first.add()
    let lease = try #require(try await first.claim().first)
    try await first.storage.close()
    #expect(lease.revocation == .lost)
    let second = try OutboxScratch(in: first.folder)
    let entry = try #require(try second.outbox.entry(id))
    #expect(entry.state == .pending)
    #expect(entry.maybeApplied)
    #expect(entry.attempts == 1)
    let owners = try FileManager.default.contentsOfDirectory(
      atPath: "\(first.folder.path)/owners")
    #expect(owners.isEmpty)
    try await second.storage.close()
  }

  @Test func aProgramWithoutMutationsHasNoFile() async throws {
    let scratch = try OutboxScratch()
    #expect(try scratch.outbox.entries().isEmpty)
    #expect(try scratch.outbox.counts.rows == OutboxCounts())
    #expect(try scratch.outbox.history(of: "note", instance: "[]").isEmpty)
    #expect(!FileManager.default.fileExists(atPath: scratch.path))
    try await scratch.storage.close()
    #expect(!FileManager.default.fileExists(atPath: scratch.path))
  }

  @Test func accountsHaveNothingInCommonButTheFile() async throws {
    let first = try OutboxScratch(partition: "a")
    let second = try OutboxScratch(in: first.folder, partition: "b")
    let id = try await first.add()
    let other = try await second.add()
    #expect(first.storage.mutations.database === second.storage.mutations.database)
    #expect(try first.outbox.entries().map(\.id) == [id])
    #expect(try second.outbox.entries().map(\.id) == [other])
    #expect(try await second.claim(10).map(\.entry.id) == [other])
    try await first.storage.erase()
    #expect(try first.outbox.entries().isEmpty)
    #expect(try second.outbox.counts.rows == OutboxCounts(leased: 1))
    try await first.storage.close()
    try await second.storage.close()
  }

  @Test func filesAreForTheUserAlone() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add()
    _ = try await scratch.claim()
    let names = ["mutations.sqlite", "mutations.sqlite-wal", "mutations.kick", "mutations.lock"]
    let owners = try FileManager.default.contentsOfDirectory(
      atPath: "\(scratch.folder.path)/owners")
    #expect(owners.count == 1)
    for name in names + owners.map({ "owners/\($0)" }) {
      let path = "\(scratch.folder.path)/\(name)"
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
    }
    try await scratch.storage.close()
  }

  /// What others look for when this process is gone: without a lease there is nothing to take back.
  @Test func onlyWhoLeasesMakesAFileOfItsOwn() async throws {
    let scratch = try OutboxScratch()
    let folder = "\(scratch.folder.path)/owners"
    let mutations = [OutboxScratch.mutation("a"), OutboxScratch.mutation("b")]
    let ids = try await scratch.outbox.enqueue(mutations).map(\.entry.id)
    #expect(try await scratch.outbox.cancel(ids[0]))
    #expect(!FileManager.default.fileExists(atPath: folder))
    #expect(try await scratch.claim().map(\.entry.id) == [ids[1]])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    try await scratch.storage.close()
  }

  @Test func nothingThatWasErasedIsInAnyFile() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add("a secret that nobody may find")
    let lease = try #require(try await scratch.claim().first)
    let done = try await scratch.outbox.enqueue(
      OutboxScratch.mutation("a secret that was sent"), claiming: true)
    _ = try await scratch.outbox.settle(try #require(done.lease), OutboxScratch.success)
    try await scratch.storage.erase()
    #expect(lease.revocation == .lost)
    #expect(try await !scratch.outbox.settle(lease, OutboxScratch.success))
    for name in ["mutations.sqlite", "mutations.sqlite-wal"] {
      let bytes = try Data(contentsOf: URL(filePath: "\(scratch.folder.path)/\(name)"))
      #expect(bytes.range(of: Data("a secret".utf8)) == nil, "\(name)")
    }
    let id = try await scratch.add()
    #expect(try scratch.outbox.entry(id)?.number == 3)
    try await scratch.storage.close()
  }

  @Test func theLogKeepsItsRoomOnTheDisk() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add()
    try await scratch.storage.close()
    let size = try FileManager.default.attributesOfItem(atPath: "\(scratch.path)-wal")[.size]
    #expect(size as? Int ?? 0 >= 256 << 10)
  }

  /// How many commits a hundred jobs take whose callers all wait at once, since the lock is held.
  private func commits(
    of job: @escaping @Sendable (Int) async throws -> Void, in scratch: OutboxScratch
  ) async throws -> Int {
    let before = scratch.storage.mutations.database.commits
    let blocker = try SQLiteConnection(path: scratch.path)
    _ = try blocker.rowsOfText("BEGIN IMMEDIATE")
    let callers = Counter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          callers.increment()
          try await job(number)
        }
      }
      while callers.value < 100 { await Task.yield() }
      _ = try blocker.rowsOfText("ROLLBACK")
      try blocker.close()
      try await group.waitForAll()
    }
    return scratch.storage.mutations.database.commits - before
  }

  @Test func concurrentMutationsShareCommits() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add()
    let outbox = scratch.outbox
    let leases = Recorder<MutationLease>()
    let enqueueing = try await self.commits(
      of: { number in
        let enqueued = try await outbox.enqueue(
          OutboxScratch.mutation("\(number)"), claiming: true)
        leases.append(try #require(enqueued.lease))
      }, in: scratch)
    // A transaction ends after some milliseconds, and a loaded machine does fewer jobs in them.
    #expect(enqueueing < 50, "\(enqueueing)")
    let held = leases.elements
    let settling = try await self.commits(
      of: { number in
        let isSettled = try await outbox.settle(held[number], OutboxScratch.success)
        #expect(isSettled)
      }, in: scratch)
    #expect(settling < 50, "\(settling)")
    try await scratch.storage.close()
  }

  @Test func aFailureOfOneJobIsNoOthers() async throws {
    let scratch = try OutboxScratch()
    let unknown = UUID()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<40 {
        group.addTask {
          if number % 2 == 0 {
            await #expect(throws: OutboxError.unknownDependencies([unknown])) {
              try await scratch.add("\(number)", after: [unknown])
            }
          } else {
            try await scratch.add("\(number)")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try scratch.outbox.counts.rows == OutboxCounts(pending: 20))
    #expect(try scratch.outbox.entries().count == 20)
    try await scratch.storage.close()
  }
}
