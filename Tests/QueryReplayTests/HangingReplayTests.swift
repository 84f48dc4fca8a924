import Foundation
import FoundationNetworking
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryReplay

/// What was on its way when the link went down, and a server that has accepted it and never answers.
@Suite(.warningsAreIssues) struct HangingReplayTests {
  private let folder: ScratchFolder
  private let storage: SQLiteQueryStorage
  private let client: QueryClient
  private let clock = ManualClock()
  private let network = MockNetworkObserver()
  private let attempts = Recorder<MutationAttempt>()

  init() throws {
    self.folder = try ScratchFolder()
    self.storage = try SQLiteQueryStorage(directory: self.folder.url)
    self.client = QueryClient(storage: self.storage)
  }

  private func send(
    to server: LoopbackServer, scope: MutationScope<Int> = .named("notes")
  ) -> some MutationRequest<Int, Void> {
    let (url, attempts) = (server.url, self.attempts)
    return BlockMutation(["send"]) { (_: Int, context) in
      if let attempt = context.mutationAttempt { attempts.append(attempt) }
      _ = try await URLSession.shared.data(from: url)
    }
    .persisted(
      as: "send", .init(scope: scope, maxAttempts: 1, host: { _ in "notes.example" }))
  }

  private func replayer(
    _ mutation: some MutationRequest<Int, Void>, perHost: Int = 2
  ) throws -> MutationReplayer {
    var configuration = ReplayConfiguration(maximumPerHost: perHost)
    configuration.clock = self.clock.replayClock
    let replayer = MutationReplayer(
      client: self.client, network: self.network, configuration: configuration)
    try replayer.register(mutation)
    return replayer
  }

  private func interruptLink() {
    self.network.send(status: .disconnected)
    self.network.send(status: .connected)
  }

  private func allSent() async {
    for await counts in self.storage.outbox.changes where counts.rows == OutboxCounts() { return }
  }

  @Test(arguments: [false, true])
  func laneWaitsSomeSecondsForAnAnswerOfAnotherNetwork(_ isOtherNetwork: Bool) async throws {
    let server = try LoopbackServer { _, number in number == 1 ? .silence : .status(200) }
    let send = self.send(to: server)
    let store = self.client.store(for: send)
    let first = try await store.enqueue(with: 1)
    let second = try await store.enqueue(with: 2)
    let replayer = try self.replayer(send)
    let run = Task { try await replayer.run() }
    await server.requests.wait(forCount: 1)
    // An observer may tell of another network, too, without one between.
    if isOtherNetwork { self.network.send(status: .connected) } else { self.interruptLink() }
    await self.clock.sleeper(until: .seconds(5))
    #expect(server.requests.count == 1)
    self.clock.advance(by: .seconds(5))
    try await first.outcome()
    try await second.outcome()
    let attempts = self.attempts.elements
    #expect(attempts.map(\.id) == [first.id, first.id, second.id])
    #expect(attempts.map(\.maybeApplied) == [false, true, false])
    // With one attempt that counts it would be dead.
    #expect(try self.storage.outbox.counts.dead == 0)
    run.cancel()
    _ = await run.result
    try await self.storage.close()
  }

  @Test func othersOfTheHostDoNotWaitForIt() async throws {
    let server = try LoopbackServer { _, number in number <= 2 ? .silence : .status(200) }
    let send = self.send(to: server, scope: .none)
    let store = self.client.store(for: send)
    for number in 1...2 { try await store.enqueue(with: number) }
    let replayer = try self.replayer(send)
    let run = Task { try await replayer.run() }
    await server.requests.wait(forCount: 2)
    let third = try await store.enqueue(with: 3)
    self.interruptLink()
    // The clock stands still: nothing was given up yet.
    try await third.outcome()
    #expect(self.attempts.elements.map(\.number) == [1, 1, 1])
    await self.clock.sleeper(until: .seconds(5))
    self.clock.advance(by: .seconds(5))
    await self.allSent()
    run.cancel()
    _ = await run.result
    try await self.storage.close()
  }

  @Test func probeOfALaneIsTriedAnewAtOnce() async throws {
    let server = try LoopbackServer { _, number in number == 1 ? .silence : .status(200) }
    let send = self.send(to: server)
    let store = self.client.store(for: send)
    let ticket = try await store.enqueue(with: 1)
    self.network.send(status: .disconnected)
    let replayer = try self.replayer(send)
    let run = Task { try await replayer.run() }
    await server.requests.wait(forCount: 1)
    self.network.send(status: .connected)
    try await ticket.outcome()
    #expect(self.attempts.elements.map(\.number) == [1, 2])
    #expect(self.clock.now == .zero)
    run.cancel()
    _ = await run.result
    try await self.storage.close()
  }

  @Test func whatGoesOnIsNotDisturbed() async throws {
    let steps = AsyncStream.makeStream(of: Int64.self)
    let (reported, calls) = (Recorder<Int64>(), Locked(0))
    let upload = BlockMutation(["upload"]) { (_: Int, context) in
      calls.withLock { $0 += 1 }
      for await step in steps.stream {
        context.mutationAttempt?.report(MutationProgress(sent: step, total: 1_000_000))
        reported.append(step)
      }
      try Task.checkCancellation()
    }
    .persisted(as: "upload")
    let ticket = try await self.client.store(for: upload).enqueue(with: 1)
    let replayer = try self.replayer(upload)
    let run = Task { try await replayer.run() }
    steps.continuation.yield(1)
    await reported.wait(forCount: 1)
    self.interruptLink()
    for step in 2...5 {
      await self.clock.sleeper(until: .seconds(5 * (step - 1)))
      steps.continuation.yield(Int64(step))
      await reported.wait(forCount: step)
      self.clock.advance(by: .seconds(5))
    }
    await self.clock.sleeper(until: .seconds(25))
    steps.continuation.finish()
    try await ticket.outcome()
    #expect(calls.withLock { $0 } == 1)
    run.cancel()
    _ = await run.result
    try await self.storage.close()
  }

  /// Some handlers call it by a name of their own when they are cancelled.
  @Test func whatAHandlerThrowsBecauseItWasGivenUpCountsForNothing() async throws {
    let calls = Recorder<Int>()
    let gate = Gate()
    let send = BlockMutation(["send"]) { (number: Int, _) in
      calls.append(number)
      guard calls.count == 1 else { return }
      do { try await gate.pass() } catch { throw TestError() }
    }
    .persisted(
      as: "send",
      .init(scope: .named("a"), maxAttempts: 1, classify: { _, _ in .permanent(reason: "any") }))
    let ticket = try await self.client.store(for: send).enqueue(with: 1)
    let replayer = try self.replayer(send)
    let run = Task { try await replayer.run() }
    await gate.arrival()
    self.interruptLink()
    await self.clock.sleeper(until: .seconds(5))
    self.clock.advance(by: .seconds(5))
    try await ticket.outcome()
    #expect(calls.elements == [1, 1])
    run.cancel()
    _ = await run.result
    try await self.storage.close()
  }
}
