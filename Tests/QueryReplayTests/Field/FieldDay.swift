import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplay

/// A simulated day: the clock goes on to the next moment at which anything happens as soon as nothing
/// is left to be done at this one.
struct FieldDay {
  private let plan: FieldPlan
  private let world: FieldWorld
  private let clock: MockQueryClock
  private let storage: any QueryStorage
  private let network = MockNetworkObserver(initialStatus: .disconnected)
  private let random: Locked<SeededGenerator>
  /// How many of the writes that were entered will be refused for good.
  private(set) var refused = 0

  /// What a process has, and a restart replaces.
  private struct Process {
    var replayer: MutationReplayer
    var run: Task<Void, any Error>
    var listening: Task<Void, Never>
    var sleeps: FieldSleeps
    var enter: @Sendable (FieldWrite) async throws -> Void
  }

  init(
    _ plan: FieldPlan, _ world: FieldWorld, _ clock: MockQueryClock, _ storage: any QueryStorage,
    seed: UInt64
  ) {
    self.plan = plan
    self.world = world
    self.clock = clock
    self.storage = storage
    self.random = Locked(SeededGenerator(seed: seed &+ 1))
  }

  /// Lives it through, and the hours after it until all is sent.
  mutating func run() async throws {
    var process = try self.launch()
    var (next, steps) = (0, 0)
    let end = (self.plan.events.last?.time ?? .zero) + .seconds(86_400)
    while self.clock.elapsed < end {
      steps += 1
      if steps > self.mostSteps { throw FieldError.endless(self.clock.elapsed) }
      let wake = try await self.quiet(process)
      let isDrained = try self.storage.outbox.counts.pending == 0
      if next == self.plan.events.count, isDrained, self.world.waits.isEmpty { break }
      let event = next < self.plan.events.count ? self.plan.events[next].time : nil
      let due = ([wake] + self.world.waits).min() ?? wake
      let time = min(due, event ?? due)
      if time > self.clock.elapsed { self.clock.advance(by: time - self.clock.elapsed) }
      guard let event, event <= self.clock.elapsed else { continue }
      // What became due at the same moment comes before the event.
      if due <= time { _ = try await self.quiet(process) }
      while next < self.plan.events.count, self.plan.events[next].time <= self.clock.elapsed {
        try await self.happen(self.plan.events[next].event, &process)
        next += 1
      }
    }
    await self.stop(process)
  }
}

/// Why a simulated day ended before its time.
enum FieldError: Error {
  /// It did more and more while no time passed, or hardly any.
  case endless(Duration)
  /// The storage failed.
  case storage(RestoredError)
}

// MARK: - Processes

extension FieldDay {
  private func launch() throws -> Process {
    let client = QueryClient(storage: self.storage)
    client.defaultContext.networkObserver = self.network
    let random = self.random
    client.defaultContext.mutationBackoff = MutationBackoff(
      random: { random.withLock { Double.random(in: 0..<1, using: &$0) } })
    let world = self.world
    let write = BlockMutation(["write"]) { (write: FieldWrite, context) in
      try await world.answer(write, key: try #require(context.mutationAttempt).idempotencyKey)
    }
    .maxHistory(length: 4)
    .persisted(
      as: "write", .init(scope: .by { "lane-\($0.lane)" }, host: { "host-\($0.host)" }))
    let sleeps = FieldSleeps(self.world.changes)
    // Polls are so rare that what comes in time was not found by one.
    var configuration = ReplayConfiguration(pollInterval: .seconds(7_200), clock: self.clock)
    configuration.clock = sleeps.clock(self.clock)
    let replayer = MutationReplayer(client: client, configuration: configuration)
    try replayer.register(write)
    let store = client.store(for: write)
    let events = replayer.events
    let listening = Task {
      for await event in events {
        if case .waiting(.storage(let error)) = event { sleeps.noteFailure(error) }
      }
    }
    return Process(
      replayer: replayer, run: Task { try await replayer.run() }, listening: listening,
      sleeps: sleeps,
      enter: { _ = try await store.enqueue(with: $0) })
  }

  private func stop(_ process: Process) async {
    process.run.cancel()
    await #expect(throws: CancellationError.self) { try await process.run.value }
    process.listening.cancel()
  }

  private mutating func happen(_ event: FieldPlan.Event, _ process: inout Process) async throws {
    switch event {
    case .link(let link):
      self.world.change(to: link)
      switch link {
      case .up, .hiddenPortal: self.network.send(status: .connected)
      case .down: self.network.send(status: .disconnected)
      case .portal: self.network.send(status: .requiresConnection)
      }
    case .mood(let host, let mood):
      if self.world.change(host, to: mood) { try await process.replayer.credentialsChanged() }
    case .enter(let writes):
      for write in writes {
        self.world.enter(write)
        if write.isRefused { self.refused += 1 }
        try await process.enter(write)
      }
    case .restart:
      await self.stop(process)
      process = try self.launch()
    }
  }
}

// MARK: - Quiet

extension FieldDay {
  private var mostSteps: Int { 40 * (self.plan.writes + self.plan.events.count) }

  /// Returns when there is nothing left to be done at this moment: a whole turn of the replayer that
  /// began when no attempt was on its way, except for answers that take time, has found nothing.
  ///
  /// - Returns: When the replayer wants to be woken.
  /// - Throws: ``FieldError``.
  private func quiet(_ process: Process) async throws -> Duration {
    let (ledger, sleeps) = (process.replayer.ledger, process.sleeps)
    let begun = ledger.attempts.begun
    while true {
      if let failure = sleeps.failure { throw FieldError.storage(failure) }
      let before = ledger.attempts
      // Each write once, and each that was not answered once more.
      if before.begun - begun > 4 * self.plan.writes {
        throw FieldError.endless(self.clock.elapsed)
      }
      guard before.running == self.world.waits.count else {
        await self.world.changes.wait()
        continue
      }
      let turns = ledger.turns
      ledger.wakeAll()
      // Each turn ends with a sleep.
      while sleeps.begun <= turns, sleeps.failure == nil { await self.world.changes.wait() }
      guard ledger.attempts == before, before.running == self.world.waits.count else { continue }
      if let time = sleeps.first(after: ledger.turns) { return time }
    }
  }
}

/// The waits of a replayer's run, of which each turn has one.
final class FieldSleeps: Sendable {
  private struct Guarded {
    var begun = 0
    var times = [Int: Duration]()
    var failure: RestoredError?
  }

  private let guarded = Locked(Guarded())
  private let changes: AsyncSignal

  init(_ changes: AsyncSignal) { self.changes = changes }

  /// How many turns have ended.
  var begun: Int { self.guarded.withLock { $0.begun } }

  /// What went wrong.
  var failure: RestoredError? { self.guarded.withLock { $0.failure } }

  func noteFailure(_ failure: RestoredError) {
    self.guarded.withLock { $0.failure = failure }
    self.changes.wake()
  }

  /// The end of the first wait; nil if the last turn is not over.
  func first(after turns: Int) -> Duration? {
    self.guarded.withLock { $0.begun >= turns ? $0.times.values.min() : nil }
  }

  func clock(_ clock: MockQueryClock) -> ReplayClock {
    ReplayClock(
      now: { clock.elapsed },
      sleep: { time in
        let id = self.guarded.withLock { sleeps in
          sleeps.begun += 1
          sleeps.times[sleeps.begun] = time
          return sleeps.begun
        }
        self.changes.wake()
        defer { self.end(id) }
        try await withTaskCancellationHandler {
          try await clock.sleep(until: time)
        } onCancel: {
          self.end(id)
        }
      })
  }

  private func end(_ id: Int) { self.guarded.withLock { _ = $0.times.removeValue(forKey: id) } }
}
