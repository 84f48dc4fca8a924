import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Query
@testable import QueryReplay

/// Several mutations of a lane in one call: see `batched(upTo:_:)`.
@Suite(.warningsAreIssues) struct BatchedReplayTests {
  /// What the server was sent, each number with its key and whether it may have been applied.
  private struct Sent: Hashable, Sendable {
    var number: Int
    var key: String
    var maybeApplied = false
  }

  private typealias Batch = [BatchedMutation<Int>]
  private typealias Results = [Result<Int, any Error>]

  private struct Refused: UnsentError {}

  private let storage = MemoryQueryStorage()
  private let client: QueryClient
  /// The calls for several, and those for one.
  private let batches = Recorder<[Int]>()
  private let singles = Recorder<Int>()

  init() {
    var context = QueryContext()
    // No backoff ends while a test looks on, however slow the machine is, and no call is left behind.
    context.mutationBackoff = MutationBackoff(base: .seconds(3_600))
    context.attemptGrace = .seconds(3_600)
    self.client = QueryClient(storage: self.storage, defaultContext: context)
  }

  private func mutation(
    upTo maximum: Int = 3, _ options: MutationPersistenceOptions<Int> = .init(scope: .named("a")),
    single: @escaping @Sendable (Int) async throws -> Int = { $0 * 10 },
    _ send: @escaping @Sendable (Batch) async throws -> Results
  ) -> some MutationRequest<Int, Int> {
    let (batches, singles) = (self.batches, self.singles)
    return BlockMutation(["add"]) { (number: Int, _) in
      singles.append(number)
      return try await single(number)
    }
    .persisted(as: "add", options)
    .batched(upTo: maximum) { batch, context in
      #expect(context.mutationAttempt == nil)
      batches.append(batch.map(\.arguments))
      return try await send(batch)
    }
  }

  private static func times10(_ batch: Batch) -> Results {
    batch.map { .success($0.arguments * 10) }
  }

  private func enqueue(
    _ numbers: ClosedRange<Int>, _ mutation: some MutationRequest<Int, Int>
  ) async throws -> [MutationTicket<Int>] {
    let store = self.client.store(for: mutation)
    var tickets = [MutationTicket<Int>]()
    for number in numbers { tickets.append(try await store.enqueue(with: number)) }
    return tickets
  }

  private func replay(_ mutation: some MutationRequest) async throws -> ReplaySummary {
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(mutation)
    return try await replayer.replayOnce()
  }

  @Test func aLaneIsSentInBatchesAndEachTicketHasItsOwnResult() async throws {
    let keys = Recorder<String>()
    let add = self.mutation { batch in
      for item in batch { keys.append(item.attempt.idempotencyKey) }
      #expect(batch.allSatisfy { $0.attempt.isReplay && $0.attempt.number == 1 })
      return Self.times10(batch)
    }
    let tickets = try await self.enqueue(1...7, add)
    #expect(try await self.replay(add) == ReplaySummary(succeeded: 7))
    #expect(self.batches.elements == [[1, 2, 3], [4, 5, 6]])
    #expect(self.singles.elements == [7], "one alone goes as ever")
    #expect(keys.elements == tickets.prefix(6).map(\.idempotencyKey))
    for (index, ticket) in tickets.enumerated() {
      #expect(try await ticket.outcome() == (index + 1) * 10)
    }
    let history = self.client.store(for: add).history
    #expect(
      Set(history.compactMap { try? $0.currentResult?.get() }) == Set((1...7).map { $0 * 10 }))
  }

  @Test func twoTogetherAreABatchToo() async throws {
    let add = self.mutation(upTo: 2) { Self.times10($0) }
    _ = try await self.enqueue(1...4, add)
    #expect(try await self.replay(add) == ReplaySummary(succeeded: 4))
    #expect(self.batches.elements == [[1, 2], [3, 4]])
    #expect(self.singles.elements == [])
  }

  @Test func anErrorAtAPlaceIsThatMutationsAlone() async throws {
    let add = self.mutation { batch in
      batch.map {
        $0.arguments == 2
          ? .failure(HTTPStatusError(statusCode: 422)) : .success($0.arguments * 10)
      }
    }
    let tickets = try await self.enqueue(1...3, add)
    #expect(try await self.replay(add) == ReplaySummary(succeeded: 2, dead: 1))
    #expect(self.batches.elements == [[1, 2, 3]])
    #expect(try self.storage.outbox.entry(tickets[1].id)?.deadReason == .rejected)
    #expect(try await tickets[2].outcome() == 30)
  }

  @Test func theServerMayStopInTheMiddle() async throws {
    let add = self.mutation(upTo: 4) { batch in
      batch[0].arguments == 1
        ? [.success(10), .failure(HTTPStatusError(statusCode: 503))] : Self.times10(batch)
    }
    let tickets = try await self.enqueue(1...4, add)
    #expect(try await self.replay(add) == ReplaySummary(succeeded: 1, failed: 1, waiting: 2))
    let outbox = self.storage.outbox
    #expect(try outbox.entry(tickets[1].id)?.waitReason == .backoff)
    #expect(try outbox.entry(tickets[1].id)?.failures == 1)
    for ticket in tickets[2...] {
      let entry = try #require(try outbox.entry(ticket.id))
      #expect(entry.waitReason == .predecessor)
      #expect(entry.failures == 0 && !entry.maybeApplied)
    }
    // What has failed goes alone; then the others go together again.
    try await outbox.retry(tickets[1].id)
    #expect(try await self.replay(add) == ReplaySummary(succeeded: 3))
    #expect(self.batches.elements == [[1, 2, 3, 4], [3, 4]])
    #expect(self.singles.elements == [2])
  }

  /// The first one waits for a release that can decode it, and the others wait behind it.
  @Test func nobodyIsSentBeforeOneThatCannotBeDecoded() async throws {
    let old = BlockMutation(["add"]) { (_: String, _) in 0 }
      .persisted(as: "add", .init(scope: .named("a")))
    let other = QueryClient(storage: self.storage)
    try await other.store(for: old).enqueue(with: "one")
    let add = self.mutation { Self.times10($0) }
    let tickets = try await self.enqueue(2...4, add)
    _ = try await self.replay(add)
    #expect(self.batches.count == 0)
    #expect(self.singles.count == 0)
    for ticket in tickets {
      let entry = try #require(try self.storage.outbox.entry(ticket.id))
      #expect(entry.waitReason == .predecessor)
      #expect(entry.failures == 0 && !entry.maybeApplied)
    }
  }

  @Test func aCallThatFailsIsTheFirstOnesFailure() async throws {
    let add = self.mutation { _ in throw HTTPStatusError(statusCode: 503) }
    let tickets = try await self.enqueue(1...3, add)
    #expect(try await self.replay(add) == ReplaySummary(failed: 1, waiting: 2))
    #expect(self.batches.elements == [[1, 2, 3]])
    let entries = try tickets.compactMap { try self.storage.outbox.entry($0.id) }
    #expect(entries.map(\.failures) == [1, 0, 0])
    #expect(entries.map(\.maybeApplied) == [true, true, true])
    #expect(entries.map(\.waitReason) == [.backoff, .predecessor, .predecessor])
  }

  /// The poison is found in no more calls than there are mutations, and nobody else dies of it.
  @Test func whatIsRefusedAsAWholeIsSentOneByOne() async throws {
    let add = self.mutation(
      single: { number in
        if number == 2 { throw HTTPStatusError(statusCode: 400) }
        return number * 10
      },
      { batch in
        if batch.contains(where: { $0.arguments == 2 }) { throw HTTPStatusError(statusCode: 400) }
        return Self.times10(batch)
      })
    let tickets = try await self.enqueue(1...5, add)
    #expect(try await self.replay(add) == ReplaySummary(succeeded: 4, dead: 1))
    #expect(self.batches.elements == [[1, 2, 3], [2, 3, 4], [3, 4, 5]])
    #expect(self.singles.elements == [1, 2])
    #expect(try self.storage.outbox.entry(tickets[1].id)?.deadReason == .rejected)
  }

  @Test func anAnswerForNoneIsAnErrorOfTheFirst() async throws {
    let add = self.mutation { _ in [] }
    _ = try await self.enqueue(1...2, add)
    #expect(try await self.replay(add) == ReplaySummary(failed: 1, waiting: 1))
    #expect(self.batches.elements == [[1, 2]], "and it is not sent again at once")
  }

  @Test func moreResultsThanMutationsAreIgnored() async throws {
    let add = self.mutation { Self.times10($0) + [.success(1), .failure(CancellationError())] }
    _ = try await self.enqueue(1...2, add)
    #expect(try await self.replay(add) == ReplaySummary(succeeded: 2))
  }

  @Test func cancellingOneLeavesTheCallToTheOthers() async throws {
    let gate = Gate()
    let add = self.mutation { batch in
      try await gate.pass()
      return Self.times10(batch)
    }
    let tickets = try await self.enqueue(1...3, add)
    let replaying = Task { try await self.replay(add) }
    await self.batches.wait(forCount: 1)
    try await self.storage.outbox.cancel(tickets[1].id)
    await #expect(throws: MutationEndedError(id: tickets[1].id, reason: .cancelled)) {
      try await tickets[1].outcome()
    }
    gate.open()
    let summary = try await replaying.value
    #expect(summary.succeeded == 2)
    #expect(try await tickets[2].outcome() == 30)
  }

  @Test func cancellingAllEndsTheCall() async throws {
    let wasCancelled = Recorder<Bool>()
    let add = self.mutation { _ in
      do { try await Task.sleep(for: .seconds(3_600)) } catch { wasCancelled.append(true) }
      throw CancellationError()
    }
    let tickets = try await self.enqueue(1...3, add)
    let replaying = Task { try await self.replay(add) }
    await self.batches.wait(forCount: 1)
    for ticket in tickets { try await self.storage.outbox.cancel(ticket.id) }
    _ = try await replaying.value
    #expect(wasCancelled.elements == [true])
    #expect(try self.storage.outbox.entries().isEmpty)
  }

  @Test func stoppingTheReplayerGivesAllBackUncharged() async throws {
    let add = self.mutation { _ in
      try await Task.sleep(for: .seconds(3_600))
      return []
    }
    let tickets = try await self.enqueue(1...3, add)
    let replaying = Task { try await self.replay(add) }
    await self.batches.wait(forCount: 1)
    replaying.cancel()
    _ = try? await replaying.value
    let entries = try tickets.compactMap { try self.storage.outbox.entry($0.id) }
    #expect(entries.map(\.state) == [.pending, .pending, .pending])
    #expect(entries.map(\.failures) == [0, 0, 0])
    #expect(!entries.contains { !$0.maybeApplied })
  }

  /// Another process would send the first one beside the call, and the last one would be sent before it.
  @Test func nothingIsGivenBackBeforeTheCallHasEnded() async throws {
    let (working, leaving) = (Gate(), Gate())
    let add = self.mutation { _ in
      try? await working.pass()
      // A call that is cancelled does not end at once.
      await Task { try? await leaving.pass() }.value
      throw CancellationError()
    }
    let tickets = try await self.enqueue(1...3, add)
    let replaying = Task { try await self.replay(add) }
    await working.arrival()
    replaying.cancel()
    await leaving.arrival()
    // What is given back at once is so before this.
    for _ in 0..<200 { await Task.yield() }
    let states = try tickets.map { try self.storage.outbox.entry($0.id)?.state }
    #expect(states == [.leased, .leased, .leased])
    leaving.open()
    _ = try? await replaying.value
    let ended = try tickets.map { try self.storage.outbox.entry($0.id)?.state }
    #expect(ended == [.pending, .pending, .pending])
  }

  @Test func theTimeLimitIsThatOfTheCall() async throws {
    let add = self.mutation(
      .init(scope: .named("a"), attemptTimeout: .milliseconds(20))
    ) { _ in
      try await Task.sleep(for: .seconds(3_600))
      return []
    }
    let tickets = try await self.enqueue(1...3, add)
    #expect(try await self.replay(add) == ReplaySummary(failed: 1, waiting: 2))
    let entries = try tickets.compactMap { try self.storage.outbox.entry($0.id) }
    #expect(entries.map(\.waitReason) == [.backoff, .predecessor, .predecessor])
    #expect(entries[0].lastError?.typeName.contains("Timeout") == true)
  }

  @Test func theSlotsOfAHostAreForCallsAndNotForTheirMutations() async throws {
    let gate = Gate()
    let add = self.mutation(
      upTo: 50, .init(scope: .by { "lane \($0 % 2)" }, host: { _ in "host" })
    ) { batch in
      try await gate.pass()
      return Self.times10(batch)
    }
    _ = try await self.enqueue(0...19, add)
    let replaying = Task { try await self.replay(add) }
    await self.batches.wait(forCount: 2)
    gate.open()
    #expect(try await replaying.value == ReplaySummary(succeeded: 20))
    #expect(Set(self.batches.elements.map(\.count)) == [10])
  }

  @Test func aliasesOfABatchAreOfUseToTheNext() async throws {
    let add = self.mutation(upTo: 2) { batch in
      for item in batch {
        if item.arguments == 1 { try item.attempt.publish(alias: "one", value: "1337") }
        if item.arguments == 3 { #expect(try item.attempt.resolve("one") == "1337") }
      }
      return Self.times10(batch)
    }
    _ = try await self.enqueue(1...4, add)
    #expect(try await self.replay(add) == ReplaySummary(succeeded: 4))
  }

  @Test func batchesNeedAScope() async throws {
    let add = self.mutation(.init()) { Self.times10($0) }
    await #expect(throws: MutationDeclarationError.batchedWithoutScope(name: "add")) {
      _ = try await self.enqueue(1...1, add)
    }
    #expect(throws: MutationDeclarationError.batchedWithoutScope(name: "add")) {
      try MutationReplayer(client: self.client).register(add)
    }
  }

  @Test func aLeaseThatIsLostMeanwhileEndsNothingAndTheCallGoesOn() async throws {
    let gate = Gate()
    let add = self.mutation { batch in
      try await gate.pass()
      return Self.times10(batch)
    }
    let tickets = try await self.enqueue(1...3, add)
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(add)
    let parts = try replayer.parts()
    let answer = try await self.storage.outbox.claim(
      ClaimRequest(
        .lowest(handledBy: replayer.handlers), batchLimits: parts.registry().batchLimits))
    let batch = try #require(LeasedBatch.batches(of: answer.leases).first)
    #expect(batch.leases.map(\.entry.id) == tickets.map(\.id))
    let attempts = batch.attempts(parts).map { attempt in Task { await attempt.run() } }
    await self.batches.wait(forCount: 1)
    batch.leases[1].revoke(.lost)
    #expect("\(await attempts[1].value)" == "leaseLost")
    gate.open()
    #expect("\(await attempts[0].value)" == "succeeded")
    #expect("\(await attempts[2].value)" == "succeeded")
    // It is whoever's it is now.
    #expect(try self.storage.outbox.entries().map(\.id) == [tickets[1].id])
    #expect(try await tickets[2].outcome() == 30)
  }

  @Test func whatIsLeasedTogetherIsGivenBackIfNothingSendsItTogetherAnyMore() async throws {
    let parts = try MutationReplayer(client: self.client).parts()
    let leases = (1...3).map { number in
      MutationLease(
        entry: OutboxEntry(
          id: UUID(), number: number, name: "add", instance: "", lane: number < 3 ? "a" : nil,
          onFailure: .continue, state: .leased, idempotencyKey: "", createdAt: Date(),
          coder: "json", arguments: Data()), isReplay: true, token: 1, epoch: 1)
    }
    let batches = LeasedBatch.batches(of: leases)
    #expect(batches.map(\.leases.count) == [2, 1])
    let kinds = batches[0].attempts(parts).map { "\($0.sending)" }
    #expect(kinds == ["alone", "notNow"])
  }

  /// What is shown of a lane is made in the order in which its mutations were acknowledged.
  @Test func whatOneCallHasSentIsAcknowledgedInItsOrder() async throws {
    let coder = HoldingCoder()
    let add = self.mutation(.init(scope: .named("a"), coder: coder)) { batch in
      batch.map { .success($0.arguments * 10) }
    }
    let tickets = try await self.enqueue(1...3, add)
    _ = try await self.replay(add)
    let records = try self.storage.outbox.history(of: "add", instance: #"["add"]"#)
    let sorted = records.sorted { ($0.sequence ?? 0) < ($1.sequence ?? 0) }
    #expect(sorted.map(\.id) == tickets.map(\.id))
  }
}

/// Holds the result of the first mutation until that of the last one was coded.
private struct HoldingCoder: QueryCoder {
  let name = "holding"
  private let door = DispatchSemaphore(value: 0)

  func encode<T: Encodable>(_ value: T) throws -> Data {
    if value as? Int == 10 { self.door.wait() }
    if value as? Int == 30 { self.door.signal() }
    return try JSONEncoder().encode(value)
  }

  func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    try JSONDecoder().decode(type, from: data)
  }
}
