import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryReplay

/// One call to start, with the storage that is shipped.
@Suite(.warningsAreIssues) struct QueryClientReplayingTests {
  private func mutation(
    _ name: String, _ sent: Recorder<String>
  ) -> some MutationRequest<String, Int> {
    BlockMutation([name]) { (text: String, _) in
      sent.append(text)
      return sent.count
    }
    .persisted(as: name)
  }

  @Test func whatIsNamedIsSentUntilTheRunIsStopped() async throws {
    let folder = try ScratchFolder()
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let client = QueryClient(storage: storage)
    let sent = Recorder<String>()
    let (create, rename) = (self.mutation("create", sent), self.mutation("rename", sent))
    let replaying = try client.startReplaying(create, rename, network: MockNetworkObserver())
    let first = try await client.store(for: create).enqueue(with: "a")
    let second = try await client.store(for: rename).enqueue(with: "b", dependsOn: [first.id])
    _ = try await first.outcome()
    _ = try await second.outcome()
    #expect(sent.elements == ["a", "b"])
    await replaying.stop()
    try await client.store(for: create).enqueue(with: "c")
    #expect(try storage.outbox.counts.pending == 1)
    try await storage.close()
  }

  @Test func lettingItGoStopsIt() async throws {
    let storage = MemoryQueryStorage()
    let client = QueryClient(storage: storage)
    let gate = Gate()
    let hanging = BlockMutation(["hang"]) { (_: String, _) in try await gate.pass() }
      .persisted(as: "hang")
    var replaying: Replaying? = try client.startReplaying(hanging)
    try await client.store(for: hanging).enqueue(with: "a")
    await gate.arrival()
    #expect(replaying != nil)
    replaying = nil
    for await counts in storage.outbox.changes where counts.pending == 1 { break }
  }

  @Test func whatRunsIsFinishedAndNothingMoreIsBegun() async throws {
    let folder = try ScratchFolder()
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let client = QueryClient(storage: storage)
    let (gate, sent) = (Gate(), Recorder<String>())
    let slow = BlockMutation(["slow"]) { (text: String, _) in
      try await gate.pass()
      sent.append(text)
    }
    .persisted(as: "slow", .init(scope: .named("lane")))
    let replaying = try client.startReplaying(slow, network: MockNetworkObserver())
    let first = try await client.store(for: slow).enqueue(with: "a")
    let second = try await client.store(for: slow).enqueue(with: "b")
    await gate.arrival()
    let end = Task { await replaying.finish() }
    while !replaying.replayer.ledger.isUsedUp { await Task.yield() }
    gate.open()
    await end.value
    #expect(sent.elements == ["a"])
    _ = try await first.outcome()
    #expect(try storage.outbox.entry(second.id)?.attempts == 0)
    // Another one goes on.
    let next = MutationReplayer(client: client)
    try next.register(slow)
    #expect(try await next.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(sent.elements == ["a", "b"])
    try await storage.close()
  }

  @Test func whatDoesNotFinishInTimeIsPendingAgain() async throws {
    let clock = MockQueryClock()
    let storage = MemoryQueryStorage(clock: clock)
    let client = QueryClient(storage: storage)
    let gate = Gate()
    let hanging = BlockMutation(["hang"]) { (_: String, _) in try await gate.pass() }
      .persisted(as: "hang")
    let replaying = try client.startReplaying(
      hanging, configuration: ReplayConfiguration(clock: clock))
    try await client.store(for: hanging).enqueue(with: "a")
    await gate.arrival()
    let end = Task { await replaying.finish(within: .seconds(5)) }
    while !replaying.replayer.ledger.isUsedUp { await Task.yield() }
    #expect(try storage.outbox.counts.leased == 1)
    clock.advance(by: .seconds(5))
    await end.value
    #expect(try storage.outbox.counts.pending == 1)
  }

  @Test func howLongAWriteHasWaitedGoesByTheClockOfTheTest() async throws {
    let clock = MockQueryClock()
    let client = QueryClient(storage: MemoryQueryStorage(clock: clock))
    let create = self.mutation("create", Recorder<String>())
    try await client.store(for: create).enqueue(with: "a")
    clock.advance(by: .seconds(90))
    let replayer = MutationReplayer(client: client, configuration: .init(clock: clock))
    try replayer.register(create)
    let events = replayer.events
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    for await event in events {
      guard case .attemptEnded(_, _, _, let waited) = event else { continue }
      #expect(waited == .seconds(90))
      break
    }
  }

  @Test func whoTakesTheEventsBeforeItStartsHasAllOfThem() async throws {
    let client = QueryClient(storage: MemoryQueryStorage())
    let sent = Recorder<String>()
    let create = self.mutation("create", sent)
    let ids = try await [
      client.store(for: create).enqueue(with: "a").id,
      client.store(for: create).enqueue(with: "b").id,
    ]
    let replayer = MutationReplayer(client: client)
    try replayer.register(create)
    let events = replayer.events
    let replaying = try replayer.start()
    await sent.wait(forCount: 2)
    await replaying.finish()
    var succeeded = [UUID]()
    for await event in events { if case .succeeded(let id) = event { succeeded.append(id) } }
    #expect(Set(succeeded) == Set(ids))
    for await _ in replayer.events { Issue.record("it has finished") }
  }

  @Test func aClientWithoutAStorageIsRefused() {
    let sent = Recorder<String>()
    #expect(throws: StorageError.self) {
      try QueryClient().startReplaying(self.mutation("create", sent))
    }
    #expect(throws: StorageError.self) { try MutationReplayer(client: QueryClient()).start() }
  }
}
