import Foundation
import Query
import TestSupport
import Testing

/// What every outbox promises to the engine and to people: one body for all of them. Each section of the
/// promise is an extension in a file of its own.
@Suite struct OutboxContractTests {}

// MARK: - Enqueueing

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsEnqueuedIsThereAsItWasGiven(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let mutation = NewMutation(
      name: "rename-note", instance: #"["notes"]"#, version: 3, lane: "note-1",
      host: "example.org", onFailure: .halt, maxAttempts: 7, maxAge: .seconds(60),
      coder: "propertyList", arguments: Data([0, 255, 1]))
    let enqueued = try await trial.outbox.enqueue(mutation, claiming: false)
    #expect(enqueued.lease == nil)
    #expect(enqueued.superseded == nil)
    let entry = OutboxEntry(
      id: mutation.id, number: enqueued.entry.number, name: "rename-note",
      instance: #"["notes"]"#, version: 3, lane: "note-1", host: "example.org",
      onFailure: .halt, maxAttempts: 7, maxAge: .seconds(60),
      idempotencyKey: mutation.idempotencyKey, createdAt: trial.clock.wall,
      coder: "propertyList", arguments: Data([0, 255, 1]))
    #expect(enqueued.entry == entry)
    #expect(try trial.outbox.entry(mutation.id) == entry)
    #expect(try trial.outbox.entries() == [entry])
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 1))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func numbersRiseInTheOrderOfEnqueueing(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<20 { ids.append(try await trial.add()) }
    let entries = try trial.outbox.entries()
    #expect(entries.map(\.id) == ids)
    #expect(entries.map(\.number) == entries.map(\.number).sorted())
    #expect(Set(entries.map(\.number)).count == 20)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aNumberIsNeverGivenAgain(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let number = try trial.entry(first).number
    try await trial.outbox.cancel(first)
    let second = try await trial.add()
    #expect(try trial.entry(second).number > number)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func enqueueingLeasesInTheSameCommitWhereItMayRunNow(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let mutation = NewMutation(
      name: "note", instance: "instance", lane: "lane", coder: "json", arguments: Data())
    let enqueued = try await trial.outbox.enqueue(mutation, claiming: true)
    let lease = try #require(enqueued.lease)
    #expect(!lease.isReplay)
    #expect(lease.entry == enqueued.entry)
    #expect(lease.entry.state == .leased)
    #expect(lease.entry.attempts == 1)
    #expect(try trial.outbox.entry(mutation.id) == lease.entry)
    #expect(
      try trial.outbox.attempts(of: mutation.id)
        == [OutboxAttempt(number: 1, startedAt: trial.clock.wall)])
    let isSettled = try await trial.outbox.settle(lease, .success)
    #expect(isSettled)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func enqueueingLeasesNothingThatHasToWait(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    func tryToLease(
      lane: String? = nil, after ids: [UUID] = [], _ reason: MutationWaitReason? = nil
    ) async throws -> MutationLease? {
      let mutation = NewMutation(
        name: "note", instance: "instance", lane: lane, dependencies: ids, coder: "json",
        arguments: Data(), waitReason: reason)
      return try await trial.outbox.enqueue(mutation, claiming: true).lease
    }
    #expect(try await tryToLease(lane: "lane") == nil, "one is before it in its lane")
    #expect(try await tryToLease(after: [first]) == nil, "it depends on one that is live")
    #expect(try await tryToLease(.offline) == nil, "there is no network")
    try await trial.outbox.pause()
    #expect(try await tryToLease() == nil, "the outbox is paused")
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 5))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func anIdentifierIsEnqueuedOnce(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let error = await storageError { try await trial.add { $0.id = id } }
    #expect(error?.code == .constraint)
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 1))
    try await trial.run(id, .success)
    await #expect(throws: StorageError.self, "it is in the history") {
      try await trial.add { $0.id = id }
    }
    #expect(try trial.outbox.counts.rows == OutboxCounts())
  }
}

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func argumentsThatAreTooLongAreRefused(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, maximumArgumentBytes: 10)
    let id = try await trial.add { $0.arguments = Data(count: 10) }
    let refused = [
      await storageError { try await trial.add { $0.arguments = Data(count: 11) } },
      await storageError { try await trial.outbox.retry(id, withArguments: Data(count: 11)) },
    ]
    #expect(refused.map { $0?.code } == [.tooBig, .tooBig])
    #expect(try trial.outbox.entries().map(\.arguments) == [Data(count: 10)])
  }
}

// MARK: - Reading

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func entriesAreThoseOfAState(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let dead = try await trial.add()
    try await trial.run(dead, .rejection)
    let leased = try await trial.add()
    _ = try await trial.lease(leased)
    let pending = try await trial.add()
    #expect(try trial.outbox.entries(in: .dead).map(\.id) == [dead])
    #expect(try trial.outbox.entries(in: .leased).map(\.id) == [leased])
    #expect(try trial.outbox.entries(in: .pending).map(\.id) == [pending])
    #expect(try trial.outbox.entries(in: nil).map(\.id) == [dead, leased, pending])
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 1, leased: 1, dead: 1))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsUnknownIsSaidToBe(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = UUID()
    let outbox = trial.outbox
    #expect(try outbox.entry(id) == nil)
    #expect(try outbox.attempts(of: id) == [])
    #expect(try outbox.value(ofAlias: "nobody") == nil)
    #expect(try outbox.history(of: "note", instance: "instance") == [])
    guard case .unknown = try outbox.standing(of: id) else {
      Issue.record("it is not known")
      return
    }
    #expect(throws: OutboxError.unknown(id)) { try outbox.why(id) }
    await #expect(throws: OutboxError.unknown(id)) { try await outbox.retry(id) }
    await #expect(throws: OutboxError.unknown(id)) {
      try await outbox.retry(id, withArguments: Data())
    }
    await #expect(throws: OutboxError.unknown(id)) { try await outbox.cancel(id) }
    await #expect(throws: OutboxError.unknown(id)) { try await outbox.discard(id) }
    #expect(try await outbox.claim(ClaimRequest(.mutation(id))).leases.isEmpty)
  }
}
