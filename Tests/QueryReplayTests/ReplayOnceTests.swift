import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplay

/// What `replayOnce` does and counts.
@Suite struct ReplayOnceTests {
  @Test func summaryTellsWhatBecameOfTheRows() async throws {
    let scratch = ReplayScratch()
    let ends: [String: ScriptedRunner.End] = [
      "good": .success, "superseded": .failure(.conflict, .drop),
      "busy": .failure(.transient(retryAfter: nil), .wait(.backoff, .seconds(5))),
      "bad": .failure(.permanent(reason: "no"), .dead(.rejected)),
    ]
    for (name, end) in ends { _ = try scratch.runner(name) { _ in end } }
    try await scratch.enqueue(3, name: "good")
    try await scratch.enqueue(1, name: "superseded")
    try await scratch.enqueue(3, name: "busy", lane: "a")
    try await scratch.enqueue(2, name: "bad")
    try await scratch.enqueue(1, name: "unknown")
    let summary = try await scratch.replayer.replayOnce()
    #expect(summary == ReplaySummary(succeeded: 4, failed: 1, waiting: 3, dead: 2))
  }

  /// One waits for an alias that another one of its batch might publish, and dies when that has not.
  @Test(arguments: StorageKind.allCases)
  func whatDiesOfTheEndOfAnotherOneIsCounted(_ kind: StorageKind) async throws {
    let folder = try ScratchFolder()
    let storage = try kind.make(in: folder)
    let client = QueryClient(storage: storage)
    let hasWaited = Gate()
    let slow = BlockMutation(["slow"]) { (_: Int, _) in try await hasWaited.pass() }
      .persisted(as: "slow", .init(scope: .named("a")))
    let orphan = BlockMutation(["orphan"]) { (alias: String, context) in
      _ = try context.mutationAttempt?.resolve(alias)
    }.persisted(as: "orphan", .init(scope: .named("b"), onFailure: .halt))
    let replayer = MutationReplayer(client: client)
    try replayer.register(slow)
    try replayer.register(orphan)
    try await client.store(for: slow).enqueue(with: 1)
    let orphans = client.store(for: orphan)
    let waits = AsyncStream<Void>.makeStream()
    let subscription = storage.outbox.subscribe {
      if case .pending = $0 { waits.continuation.yield() }
    }
    defer { subscription.cancel() }
    for _ in 0..<2 { try await orphans.enqueue(with: UUID().uuidString) }
    async let summary = replayer.replayOnce()
    await hasWaited.arrival(1)
    for await _ in waits.stream { break }
    hasWaited.open()
    #expect(try await summary == ReplaySummary(succeeded: 1, waiting: 1, dead: 1))
    #expect(try storage.outbox.counts.dead == 1)
  }

  /// A launch does not see the network return that the one before it has seen go.
  @Test(arguments: StorageKind.allCases)
  func whatHasFailedOfflineIsSentByTheNextLaunchOnceTheNetworkIsUp(_ kind: StorageKind) async throws
  {
    let folder = try ScratchFolder()
    let storage = try kind.make(in: folder)
    let network = MockNetworkObserver(initialStatus: .disconnected)
    let attempts = Counter()
    let save = BlockMutation(["save"]) { (_: String, _) in
      attempts.increment()
      guard network.currentStatus == .connected else { throw URLError(.notConnectedToInternet) }
    }.persisted(as: "save")
    var context = QueryContext()
    // Longer than the test takes on a loaded machine: then it would be due by itself.
    context.mutationBackoff = MutationBackoff(base: .seconds(3_600), maximum: .seconds(3_600))
    func launch() throws -> (QueryClient, MutationReplayer) {
      let client = QueryClient(
        storage: storage, defaultContext: context,
        storeCreator: .default(retryLimit: 0, networkObserver: network))
      let replayer = MutationReplayer(client: client)
      try replayer.register(save)
      return (client, replayer)
    }
    let (client, first) = try launch()
    try await client.store(for: save).enqueue(with: "a")
    #expect(try await first.replayOnce() == ReplaySummary(failed: 1))
    #expect(try storage.outbox.entries(in: .pending).map(\.waitReason) == [.offline])
    #expect(try await launch().1.replayOnce() == ReplaySummary(waiting: 1), "it is down still")
    network.send(status: .connected)
    #expect(try await launch().1.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(attempts.value == 2)
  }

  /// A test's clock is waited on by what the test has asked for alone.
  @Test func nothingWaitsByTheClockWhileAnAttemptIsUnderWay() async throws {
    let sleeps = Recorder<Duration>()
    let attempt = Gate()
    var configuration = ReplayConfiguration()
    configuration.clock = ReplayClock(
      now: { .zero },
      sleep: { time in
        sleeps.append(time)
        try await Gate().pass()
      })
    let client = QueryClient(storage: MemoryQueryStorage())
    let slow = BlockMutation(["slow"]) { (_: Int, _) in try await attempt.pass() }
      .persisted(as: "slow")
    let replayer = MutationReplayer(client: client, configuration: configuration)
    try replayer.register(slow)
    try await client.store(for: slow).enqueue(with: 1)
    let run = Task { try await replayer.replayOnce() }
    await attempt.arrival()
    attempt.open()
    #expect(try await run.value == ReplaySummary(succeeded: 1))
    #expect(sleeps.elements.isEmpty)
  }

  @Test(arguments: [Date(timeIntervalSinceReferenceDate: 0), .now])
  func aWriteIsDueWhenTheClockShowsItsTime(_ start: Date) async throws {
    let fail = BlockMutation(["fail"]) { (_: Int, _) in throw HTTPStatusError(statusCode: 500) }
      .persisted(as: "fail")
    for _ in 0..<40 {
      let clock = MockQueryClock(startingAt: start)
      let storage = MemoryQueryStorage(clock: clock)
      let client = QueryClient(storage: storage)
      let replayer = MutationReplayer(
        client: client, configuration: ReplayConfiguration(clock: clock))
      try replayer.register(fail)
      let ticket = try await client.store(for: fail).enqueue(with: 1)
      for _ in 0..<5 {
        #expect(try await replayer.replayOnce() == ReplaySummary(failed: 1))
        let due = try #require(try storage.outbox.entry(ticket.id)?.nextAttemptAt)
        clock.advance(by: .seconds(due.timeIntervalSince(clock.now())))
      }
    }
  }

  @Test func anAttemptThatEndsWhileTheOutboxIsAskedDoesNotEndTheReplay() async throws {
    let (claims, attempts) = (Gate(), Gate())
    let scratch = ReplayScratch(.connected) { ScriptedOutbox($0, gate: claims) }
    _ = try scratch.runner { _ in
      try await attempts.pass()
      return .success
    }
    let first = try await scratch.enqueue(2, lane: "a")[0]
    let once = Task { try await scratch.replayer.replayOnce() }
    await claims.arrival(1)
    claims.letOneThrough()
    await attempts.arrival(1)
    // Lets it ask again: its lane is taken, so the answer is that nothing may run.
    try await scratch.enqueue(1, lane: "a")
    await claims.arrival(2)
    attempts.open()
    while scratch.replayer.ledger.isRunning(first) { await Task.yield() }
    claims.open()
    #expect(try await once.value == ReplaySummary(succeeded: 3))
  }

  @Test func whatWaitsForItsTimeGoesOnWaiting() async throws {
    let scratch = ReplayScratch()
    let runner = try scratch.runner { _ in
      .failure(.transient(retryAfter: nil), .wait(.backoff, .seconds(5)))
    }
    try await scratch.enqueue()
    _ = try await scratch.replayer.replayOnce()
    scratch.clock.advance(by: .seconds(4))
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(waiting: 1))
    scratch.clock.advance(by: .seconds(1))
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(failed: 1))
    #expect(runner.calls.count == 2)
  }

  @Test func rowThatIsDueAgainAtOnceIsNotTriedForEver() async throws {
    let scratch = ReplayScratch()
    _ = try scratch.runner { _ in .failure(.transient(retryAfter: nil), .now) }
    try await scratch.enqueue(2)
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(failed: 2))
  }

  @Test func deadlineEndsTheAttemptsThatRun() async throws {
    let scratch = ReplayScratch()
    let gate = Gate()
    _ = try scratch.runner { _ in
      try await gate.pass()
      return .success
    }
    try await scratch.enqueue(3)
    let once = Task { try await scratch.replayer.replayOnce(deadline: .seconds(5)) }
    await gate.arrival(2)
    await scratch.clock.sleeper(until: .seconds(5))
    scratch.clock.advance(by: .seconds(5))
    #expect(try await once.value == ReplaySummary(failed: 2, waiting: 1))
    #expect(try scratch.outbox.counts.rows == OutboxCounts(pending: 3))
  }

  /// As a program does that signs out while its replayer sends.
  @Test func besideARunThatSendsItWaitsWithoutLookingAgainAndAgain() async throws {
    let scratch = ReplayScratch()
    let gate = Gate()
    _ = try scratch.runner { _ in
      try await gate.pass()
      return .success
    }
    try await scratch.enqueue(1)
    let run = Task { try await scratch.replayer.run() }
    await gate.arrival(1)
    let once = Task { try await scratch.replayer.replayOnce(deadline: .seconds(5)) }
    await scratch.clock.sleeper(until: .seconds(5))
    // If one of them looked again and again, it would do so meanwhile.
    for _ in 0..<1_000 { await Task.yield() }
    #expect(scratch.replayer.ledger.turns <= 6)
    scratch.clock.advance(by: .seconds(5))
    #expect(
      try await once.value == ReplaySummary(waiting: 1), "what the other one sends is not sent yet")
    run.cancel()
    _ = await run.result
  }

  @Test func deadlineThatIsOverSendsNothing() async throws {
    let scratch = ReplayScratch()
    let runner = try scratch.runner()
    try await scratch.enqueue(3)
    #expect(try await scratch.replayer.replayOnce(deadline: .zero) == ReplaySummary(waiting: 3))
    #expect(runner.calls.count == 0)
  }

  @Test func behindAPortalNothingIsTried() async throws {
    let scratch = ReplayScratch(.requiresConnection)
    let runner = try scratch.runner()
    try await scratch.enqueue(3)
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(waiting: 3))
    #expect(runner.calls.count == 0)
    #expect(scratch.replayer.ledger.claims == 0)
  }

  @Test func offlineEachHostIsTriedOnceUntilItAnswers() async throws {
    let scratch = ReplayScratch(.disconnected)
    let runner = try scratch.runner { lease in
      lease.entry.host == "here"
        ? .success : .failure(.connectivity, .wait(.offline, .seconds(1)))
    }
    try await scratch.enqueue(3, host: "gone")
    try await scratch.enqueue(3, host: "here")
    let summary = try await scratch.replayer.replayOnce()
    #expect(summary == ReplaySummary(succeeded: 3, failed: 1, waiting: 2))
    #expect(runner.calls.count == 4)
    scratch.clock.advance(by: .seconds(1))
    let again = try await scratch.replayer.replayOnce()
    #expect(again == ReplaySummary(waiting: 3), "the host has a pause")
  }

  @Test func cancellingItGivesItsLeasesBack() async throws {
    let scratch = ReplayScratch()
    let gate = Gate()
    _ = try scratch.runner { _ in
      try await gate.pass()
      return .success
    }
    try await scratch.enqueue(2)
    let once = Task { try await scratch.replayer.replayOnce() }
    await gate.arrival(2)
    once.cancel()
    await #expect(throws: CancellationError.self) { try await once.value }
    #expect(try scratch.outbox.counts.rows == OutboxCounts(pending: 2))
  }

  @Test func rowsThatAreTooOldAreCountedAsDead() async throws {
    let scratch = ReplayScratch()
    _ = try scratch.runner()
    let mutation = NewMutation(
      name: "edit", instance: "", maxAge: .seconds(60), coder: "json", arguments: Data())
    _ = try await scratch.outbox.enqueue(mutation, claiming: false)
    scratch.clock.advance(by: .seconds(61))
    #expect(try await scratch.replayer.replayOnce() == ReplaySummary(dead: 1))
  }

  @Test func besideARunItEndsWhenBothHaveNothingLeft() async throws {
    let scratch = ReplayScratch()
    let gate = Gate()
    _ = try scratch.runner { _ in
      try await gate.pass()
      return .success
    }
    try await scratch.enqueue(3, lane: "a")
    try await scratch.whileRunning {
      await gate.arrival(1)
      let once = Task { try await scratch.replayer.replayOnce() }
      gate.open()
      _ = try await once.value
      #expect(try scratch.outbox.counts.rows == OutboxCounts())
    }
  }
}
