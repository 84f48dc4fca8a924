import Foundation
import Query
import TestSupport
import Testing

// MARK: - Several at once

extension OutboxContractTests {
  private static func mutation(
    _ text: String, lane: String? = nil, after ids: [UUID] = []
  ) -> NewMutation {
    NewMutation(
      name: "note", instance: "instance", lane: lane, dependencies: ids, coder: "json",
      arguments: Data(text.utf8))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func severalAreCommittedInTheirOrderAndMayDependOnEachOther(
    _ kind: StorageUnderTest
  ) async throws {
    let trial = try OutboxTrial(kind)
    let first = Self.mutation("first", lane: "lane")
    let second = Self.mutation("second", lane: "lane")
    let third = Self.mutation("third", after: [first.id, second.id])
    let enqueued = try await trial.outbox.enqueue([first, second, third])
    #expect(enqueued.map(\.entry.id) == [first.id, second.id, third.id])
    #expect(enqueued.allSatisfy { $0.lease == nil && !$0.isOld })
    let entries = try trial.outbox.entries()
    #expect(entries.map(\.id) == [first.id, second.id, third.id])
    #expect(entries.map(\.waitReason) == [nil, .predecessor, .dependency])
    #expect(try await trial.claimed() == [first.id])
    #expect(try await trial.outbox.enqueue([]).isEmpty)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func ofSeveralAllOrNoneAreCommitted(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, maximumArgumentBytes: 100)
    let source = try ScratchFolder()
    let file = try source.file("photo", Data("hello".utf8))
    let old = try await trial.add(lane: "lane")
    var withFile = Self.mutation("file")
    withFile.bodies = [file]
    let kept = try await trial.outbox.enqueue(withFile, claiming: false).entry.id
    let copy = try #require(try await trial.outbox.bodies(of: kept).first)
    let entries = try trial.outbox.entries()
    let events = trial.events.elements
    var latest = Self.mutation("latest", lane: "lane")
    latest.coalesce = .latest
    let unknown = UUID()
    withFile.id = UUID()
    await #expect(throws: OutboxError.unknownDependencies([unknown])) {
      try await trial.outbox.enqueue([
        withFile, latest, Self.mutation("last", after: [unknown]),
      ])
    }
    await #expect(throws: StorageError.self) {
      try await trial.outbox.enqueue([latest, Self.mutation(String(repeating: "x", count: 101))])
    }
    #expect(try trial.outbox.entries() == entries)
    #expect(entries.first?.id == old)
    #expect(trial.events.elements == events)
    let folder = copy.deletingLastPathComponent().path
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder) == [copy.lastPathComponent])
    _ = try await trial.outbox.enqueue([latest, Self.mutation("new")])
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 3))
  }
}

// MARK: - Once more

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func anIdentifierThatIsRepeatedIsTheFirstWhereverThatStands(
    _ kind: StorageUnderTest
  ) async throws {
    let limits = MutationHistoryLimits(perMutation: 1)
    let trial = try OutboxTrial(kind, limits: limits)
    let source = try ScratchFolder()
    let file = try source.file("photo", Data("hello".utf8))
    let id = UUID()
    var first = NewMutation(
      id: id, idempotencyKey: id.uuidString, name: "note", instance: "instance", coder: "json",
      arguments: Data("first".utf8), bodies: [file], isRepeatable: true)
    #expect(try await !trial.outbox.enqueue(first, claiming: false).isOld)
    let copy = try #require(try await trial.outbox.bodies(of: id).first)
    let folder = copy.deletingLastPathComponent().path
    first.arguments = Data("second".utf8)
    func repeated() async throws -> EnqueuedMutation {
      let enqueued = try await trial.outbox.enqueue(first, claiming: true)
      #expect(enqueued.isOld)
      #expect(enqueued.lease == nil)
      #expect(enqueued.entry.id == id)
      #expect(enqueued.entry.idempotencyKey == id.uuidString)
      return enqueued
    }
    #expect(try await repeated().entry.arguments == Data("first".utf8))
    // Its file may be gone by now.
    try FileManager.default.removeItem(at: file)
    _ = try await repeated()
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder) == [copy.lastPathComponent])
    let lease = try await trial.lease(id)
    #expect(try await repeated().entry.state == .leased)
    let isSettled = try await trial.outbox.settle(lease, .success)
    #expect(isSettled)
    _ = try await repeated()
    // The history keeps what ended within a day.
    trial.clock.advance(by: .seconds(86_401))
    for _ in 0..<40 { try await trial.run(try await trial.add(), .success) }
    guard case .unknown = try trial.outbox.standing(of: id) else {
      Issue.record("the history has not forgotten it")
      return
    }
    _ = try await repeated()
    #expect(try trial.outbox.counts.rows == OutboxCounts())
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    // It is no other mutation's.
    first.name = "other"
    let live = try await trial.add()
    first.id = live
    await #expect(throws: StorageError.self) {
      try await trial.outbox.enqueue(first, claiming: false)
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func anErasedIdentifierIsNew(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(perMutation: 1))
    let id = try await trial.add { $0.isRepeatable = true }
    try await trial.run(id, .success)
    trial.clock.advance(by: .seconds(86_401))
    for _ in 0..<40 { try await trial.run(try await trial.add(), .success) }
    try await trial.storage.erase()
    let again = NewMutation(
      id: id, name: "note", instance: "instance", coder: "json", arguments: Data(),
      isRepeatable: true)
    #expect(try await !trial.outbox.enqueue(again, claiming: false).isOld)
  }
}

// MARK: - What the history has forgotten

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatSucceededLongAgoIsNotWaitedFor(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(perMutation: 2))
    let sent = try await trial.add()
    try await trial.run(sent, .success)
    let old = try await trial.add(lane: "lane")
    let new = try await trial.add(lane: "lane") { $0.coalesce = .latest }
    try await trial.run(new, .success)
    let cancelled = try await trial.add()
    try await trial.outbox.cancel(cancelled)
    trial.clock.advance(by: .seconds(86_401))
    for _ in 0..<40 { try await trial.run(try await trial.add(), .success) }
    for id in [sent, old, new, cancelled] {
      guard case .unknown = try trial.outbox.standing(of: id) else {
        Issue.record("the history has not forgotten \(id)")
        return
      }
    }
    let dependant = try await trial.add(after: [sent, old])
    #expect(try trial.entry(dependant).waitReason == nil)
    await #expect(throws: OutboxError.ended(cancelled)) {
      try await trial.add(after: [cancelled])
    }
    let unknown = UUID()
    await #expect(throws: OutboxError.unknownDependencies([unknown])) {
      try await trial.add(after: [sent, unknown])
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatSucceededIsRememberedForThirtyDays(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(days: 1))
    let sent = try await trial.add()
    try await trial.run(sent, .success)
    trial.clock.advance(by: .seconds(29 * 86_400))
    try await trial.run(try await trial.add(), .success)
    guard case .unknown = try trial.outbox.standing(of: sent) else {
      Issue.record("the history has not forgotten it")
      return
    }
    _ = try await trial.add(after: [sent])
    trial.clock.advance(by: .seconds(2 * 86_400))
    try await trial.run(try await trial.add(), .success)
    await #expect(throws: OutboxError.unknownDependencies([sent])) {
      try await trial.add(after: [sent])
    }
  }
}

// MARK: - Later

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsScheduledIsSentThenAndNotBefore(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let mutation = NewMutation(
      name: "note", instance: "instance", lane: "lane", coder: "json", arguments: Data(),
      delay: .seconds(10))
    let enqueued = try await trial.outbox.enqueue(mutation, claiming: true)
    #expect(enqueued.lease == nil)
    #expect(enqueued.entry.waitReason == .scheduled)
    #expect(enqueued.entry.nextAttemptAt == trial.clock.wall + 10)
    #expect(try trial.outbox.why(mutation.id) == "It is to be sent in 10 s.")
    let behind = try await trial.add(lane: "lane")
    #expect(try trial.entry(behind).waitReason == .predecessor)
    let answer = try await trial.claim()
    #expect(answer.leases.isEmpty)
    #expect(answer.nextDue == .seconds(10))
    // The network has nothing to do with it.
    try await trial.outbox.release(.offline)
    #expect(try trial.entry(mutation.id).waitReason == .scheduled)
    trial.clock.advance(by: .seconds(10))
    #expect(try trial.entry(mutation.id).waitReason == nil)
    #expect(try await trial.claimed() == [mutation.id])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsScheduledIsUndoneOrSentAtOnce(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add { $0.delay = .seconds(5) }
    let second = try await trial.add { $0.delay = .seconds(5) }
    let hasEnded = try await trial.outbox.cancel(first)
    #expect(hasEnded)
    try await trial.outbox.retry(second)
    #expect(try await trial.claimed() == [second])
    let third = try await trial.add { $0.delay = .zero }
    #expect(try await trial.claimed() == [third])
  }

  /// Each change of a value that is typed begins its wait anew.
  @Test(arguments: StorageUnderTest.withOutbox)
  func theLatestBeginsItsWaitAnew(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    for _ in 0..<3 {
      trial.clock.advance(by: .seconds(4))
      try await trial.add(lane: "lane") { ($0.delay, $0.coalesce) = (.seconds(5), .latest) }
    }
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 1))
    #expect(try await trial.claim().nextDue == .seconds(5))
  }
}
