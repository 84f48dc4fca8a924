import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplay

/// A replayer of a real client: mutations, their stores and tickets.
@Suite(.warningsAreIssues) struct ClientReplayTests {
  /// Adds a number, as often as its server lets it.
  private struct Add: MutationRequest, Hashable {
    var instance = 0
    var server: @Sendable (Int, MutationAttempt?) async throws -> Int = { number, _ in number }

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.instance == rhs.instance }
    func hash(into hasher: inout Hasher) { hasher.combine(self.instance) }

    var path: QueryPath { ["add", self.instance] }

    func mutate(
      with arguments: Int, in context: QueryContext, with continuation: QueryContinuation<Int>
    ) async throws -> Int {
      try await self.server(arguments, context.mutationAttempt)
    }
  }

  private let storage = MemoryQueryStorage()
  private let client: QueryClient

  init() { self.client = QueryClient(storage: self.storage) }

  @Test func queuedMutationsAreSentAndTheirTicketsTellTheResult() async throws {
    let add = Add().persisted(as: "add", .init(scope: .named("a")))
    let store = self.client.store(for: add)
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(add)
    let tickets = [try await store.enqueue(with: 1), try await store.enqueue(with: 2)]
    let run = Task { try await replayer.run() }
    #expect(try await tickets[0].outcome() == 1)
    #expect(try await tickets[1].outcome() == 2)
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(store.history.compactMap { try? $0.currentResult?.get() } == [1, 2])
  }

  @Test func mutationOfAClosureIsSentByTheNextLaunch() async throws {
    // As each launch makes it anew.
    func append(to sent: Recorder<String>) -> some MutationRequest<String, Int> {
      BlockMutation(["append"]) { (text: String, context) in
        sent.append("\(text) \(try #require(context.mutationAttempt).idempotencyKey)")
        return sent.elements.count
      }
      .persisted(as: "append")
    }
    let (before, after) = (Recorder<String>(), Recorder<String>())
    let ticket = try await self.client.store(for: append(to: before)).enqueue(with: "a")
    let next = QueryClient(storage: self.storage)
    let replayer = MutationReplayer(client: next)
    try replayer.register(append(to: after))
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(before.elements == [])
    #expect(after.elements == ["a \(ticket.idempotencyKey)"])
    #expect(try await ticket.outcome() == 1)
    #expect(next.store(for: append(to: after)).history.map(\.arguments) == ["a"])
  }

  @Test func mutationOfAClosureUnderAnotherPathDoesNotSendIt() async throws {
    let first = BlockMutation(["first"]) { (_: Int, _) in 1 }.persisted(as: "block")
    let second = BlockMutation(["second"]) { (_: Int, _) in 2 }.persisted(as: "block")
    try await self.client.store(for: first).enqueue(with: 1)
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(second)
    #expect(try await replayer.replayOnce() == ReplaySummary(waiting: 1))
    let ping = BlockMutation(["ping"]) { _ in }.persisted(as: "ping")
    try replayer.register(ping)
    try await self.client.store(for: ping).mutate()
  }

  @Test func attemptIsToldThatItIsAReplay() async throws {
    let attempts = Recorder<MutationAttempt>()
    let add = Add { number, attempt in
      attempts.append(try #require(attempt))
      return number
    }
    .persisted(as: "add")
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(add)
    let ticket = try await self.client.store(for: add).enqueue(with: 1)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    let attempt = try #require(attempts.elements.first)
    #expect(attempt.id == ticket.id)
    #expect(attempt.idempotencyKey == ticket.idempotencyKey)
    #expect(attempt.isReplay)
    #expect(!attempt.maybeApplied)
    #expect(attempt.number == 1)
  }

  @Test func mutationThatIsNotDurableIsRefused() throws {
    let replayer = MutationReplayer(client: self.client)
    #expect(throws: ReplayError.self) { try replayer.register(Add(instance: 9)) }
    try replayer.register(Add().persisted(as: "add"))
    try replayer.register(Add().persisted(as: "add"))
    try replayer.register(Add(instance: 1).persisted(as: "add"))
  }

  @Test func rowOfAnotherInstanceWaits() async throws {
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(Add(instance: 4).persisted(as: "add"))
    let store = self.client.store(for: Add(instance: 3).persisted(as: "add"))
    try await store.enqueue(with: 1)
    #expect(try await replayer.replayOnce() == ReplaySummary(waiting: 1))
  }

  @Test func cancelledRunLeavesItsMutationPendingAndDue() async throws {
    let gate = Gate()
    let add = Add { number, _ in
      try await gate.pass()
      return number
    }
    .persisted(as: "add")
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(add)
    let ticket = try await self.client.store(for: add).enqueue(with: 1)
    let run = Task { try await replayer.run() }
    await gate.arrival()
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    let entry = try #require(try self.storage.outbox.entry(ticket.id))
    #expect(entry.state == .pending)
    #expect(entry.waitReason == nil)
    #expect(entry.failures == 0)
    gate.open()
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
  }

  @Test func mutationsThatCancelThemselvesWaitAndAreChargedAndTheNextIsSent() async throws {
    let add = Add { number, _ in
      if number < 3 { throw CancellationError() }
      return number
    }
    .persisted(as: "add")
    // The clock stands still: on a busy machine their waits would be over before the third is sent.
    let clock = ManualClock()
    let storage = MemoryQueryStorage(outboxClock: clock.outboxClock)
    let client = QueryClient(storage: storage)
    var configuration = ReplayConfiguration()
    configuration.clock = clock.replayClock
    let replayer = MutationReplayer(client: client, configuration: configuration)
    try replayer.register(add)
    var tickets = [MutationTicket<Int>]()
    for number in 1...3 {
      tickets.append(try await client.store(for: add).enqueue(with: number))
    }
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1, failed: 2))
    #expect(try await tickets[2].outcome() == 3)
    let entries = try storage.outbox.entries()
    #expect(entries.map(\.failures) == [1, 1])
    #expect(entries.map(\.waitReason) == [.backoff, .backoff])
  }

  /// Release 2 renames a field and forgets to raise the version; release 2.1 mends it.
  @Test func whatOneReleaseCannotReadIsSentByTheNext() async throws {
    struct Old: Codable, Sendable { var name: String }
    struct New: Codable, Sendable { var title: String }
    let sent = Recorder<String>()
    func save(_ options: MutationPersistenceOptions<New>) -> some MutationRequest<New, Void> {
      BlockMutation(["save"]) { (new: New, _) in sent.append(new.title) }
        .persisted(as: "save", options)
    }
    let old = BlockMutation(["save"]) { (_: Old, _) in }.persisted(as: "save")
    for name in ["a", "b", "c"] {
      _ = try await self.client.store(for: old).enqueue(with: Old(name: name))
    }
    for _ in 0..<2 {
      let client = QueryClient(storage: self.storage)
      let broken = MutationReplayer(client: client)
      try broken.register(save(.init()))
      #expect(try await broken.replayOnce() == ReplaySummary(failed: 3))
      #expect(try await broken.replayOnce() == ReplaySummary(waiting: 3), "once")
      #expect(
        try self.storage.outbox.entries().map(\.waitReason) == [.handler, .handler, .handler])
    }
    let options = MutationPersistenceOptions<New>(
      version: 2,
      upgrade: { data, _ in
        try JSONEncoder().encode(New(title: JSONDecoder().decode(Old.self, from: data).name))
      })
    let next = MutationReplayer(client: QueryClient(storage: self.storage))
    try next.register(save(options))
    #expect(try await next.replayOnce() == ReplaySummary(succeeded: 3))
    #expect(sent.elements.sorted() == ["a", "b", "c"])
  }

  @Test func networkOfTheClientCounts() async throws {
    let network = MockNetworkObserver(initialStatus: .requiresConnection)
    self.client.defaultContext.networkObserver = network
    let add = Add().persisted(as: "add")
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(add)
    try await self.client.store(for: add).enqueue(with: 1)
    #expect(try await replayer.replayOnce() == ReplaySummary(waiting: 1))
    network.send(status: .connected)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
  }

  @Test func errorThatIsNotKnownCostsNothingWhileThereIsNoNetwork() async throws {
    let add = Add { _, _ in throw TestError() }.persisted(as: "add", .init(maxAttempts: 1))
    let network = MockNetworkObserver(initialStatus: .disconnected)
    let replayer = MutationReplayer(client: self.client, network: network)
    try replayer.register(add)
    let ticket = try await self.client.store(for: add).enqueue(with: 1)
    #expect(try await replayer.replayOnce() == ReplaySummary(failed: 1))
    let entry = try #require(try self.storage.outbox.entry(ticket.id))
    #expect(entry.failures == 0 && entry.waitReason == .offline)
    network.send(status: .connected)
    #expect(try await replayer.replayOnce() == ReplaySummary(dead: 1))
  }

  @Test func registrationSaysThatTheNetworkDoesNotMatter() async throws {
    let network = MockNetworkObserver(initialStatus: .requiresConnection)
    let replayer = MutationReplayer(client: self.client, network: network)
    let add = Add().persisted(as: "add").attemptsWhileOffline()
    try replayer.register(add)
    try await self.client.store(for: add).enqueue(with: 1)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
  }

  @Test func observerThatAlwaysReportsANetworkLetsAllBeSent() async throws {
    self.client.defaultContext.networkObserver = MockNetworkObserver(
      initialStatus: .requiresConnection)
    let replayer = MutationReplayer(client: self.client, network: .always)
    let add = Add().persisted(as: "add")
    try replayer.register(add)
    try await self.client.store(for: add).enqueue(with: 1)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
  }

  @Test func networkOfTheReplayerCountsMoreAndTheClientSaysHowGoodItMustBe() async throws {
    self.client.defaultContext.networkObserver = MockNetworkObserver(initialStatus: .disconnected)
    let network = MockNetworkObserver(initialStatus: .requiresConnection)
    let add = Add().persisted(as: "add")
    let replayer = MutationReplayer(client: self.client, network: network)
    try replayer.register(add)
    try await self.client.store(for: add).enqueue(with: 1)
    #expect(try await replayer.replayOnce() == ReplaySummary(waiting: 1))
    self.client.defaultContext.satisfiedConnectionStatus = .requiresConnection
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
  }

  @Test func failureIsShownInTheHistory() async throws {
    let add = Add { _, _ in throw HTTPStatusError(statusCode: 404) }.persisted(as: "add")
    let store = self.client.store(for: add)
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(add)
    let ticket = try await store.enqueue(with: 1)
    let events = replayer.events
    #expect(try await replayer.replayOnce() == ReplaySummary(dead: 1))
    await #expect(throws: MutationDeadError.self) { try await ticket.outcome() }
    for await event in events where event == .dead(ticket.id, .rejected) { break }
  }
}
