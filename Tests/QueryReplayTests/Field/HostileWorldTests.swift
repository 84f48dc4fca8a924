import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryReplay

/// Everything that may go wrong at once, on disk, with two replayers: nothing is lost, out of order in its
/// lane, sent by both at a time, or left waiting for ever.
@Suite(.warningsAreIssues) struct HostileWorldTests {
  /// A client, as of an application and of its tool, which come and go.
  private final class Station: Sendable {
    let storage: SQLiteQueryStorage
    let client: QueryClient
    let network = MockNetworkObserver()

    init(_ folder: ScratchFolder, _ wallOffset: Locked<TimeInterval>) throws {
      var configuration = SQLiteQueryStorage.Configuration()
      configuration.outboxClock = OutboxClock {
        var time = OutboxClock.system.now()
        time.wall += wallOffset.withLock { $0 }
        return time
      }
      self.storage = try SQLiteQueryStorage(directory: folder.url, configuration: configuration)
      var context = QueryContext()
      context.mutationBackoff = MutationBackoff(base: .milliseconds(3), maximum: .milliseconds(50))
      self.client = QueryClient(storage: self.storage, defaultContext: context)
    }

    func replayer(_ kinds: HostileWorldTests.Kinds) throws -> MutationReplayer {
      let replayer = MutationReplayer(
        client: self.client, network: self.network,
        configuration: ReplayConfiguration(maximumConcurrency: 8, pollInterval: .seconds(1)))
      for mutation in kinds.single { try replayer.register(mutation) }
      try replayer.register(kinds.batched)
      return replayer
    }
  }

  fileprivate typealias Mutation = ModifiedQuery<
    BlockMutation<HostileWorld.Write, Void>,
    _PersistedMutationModifier<BlockMutation<HostileWorld.Write, Void>>
  >

  fileprivate typealias Batched = ModifiedQuery<Mutation, _BatchedMutationModifier<Mutation>>

  /// What is sent: one by one, urgent or not, and several at a time.
  fileprivate struct Kinds: Sendable {
    var single: [Mutation]
    var batched: Batched
  }

  private static func kinds(_ world: HostileWorld) -> Kinds {
    let batched = BlockMutation(["send-batched"]) { (write: HostileWorld.Write, context) in
      try await world.send(write, context.mutationAttempt)
    }
    .persisted(
      as: "send-batched",
      MutationPersistenceOptions(
        scope: .by { "lane-\($0.lane)" }, host: { $0.host }, attemptTimeout: .milliseconds(100))
    )
    .batched(upTo: 5) { batch, _ in try await world.send(batch) }
    return Kinds(single: Self.mutations(world), batched: batched)
  }

  private static func mutations(_ world: HostileWorld) -> [Mutation] {
    [MutationPriority.low, .normal, .high].map { priority in
      BlockMutation(["send", "\(priority)"]) { (write: HostileWorld.Write, context) in
        try await world.send(write, context.mutationAttempt)
      }
      .persisted(
        as: "send-\(priority)",
        MutationPersistenceOptions(
          scope: .by { "lane-\($0.lane)" },
          onConflict: { write, _, _ in
            var write = write
            write.edition += 1
            return .retry(with: write)
          },
          host: { $0.host }, attemptTimeout: .milliseconds(100), priority: priority))
    }
  }

  /// How many writes there are.
  private static var size: Int {
    ProcessInfo.processInfo.environment["HOSTILE_WRITES"].flatMap { Int($0) } ?? 240
  }

  @Test(arguments: SeededGenerator.seeds(1))
  func nothingIsLostReorderedOrLeftWaiting(seed: UInt64) async throws {
    let (folder, wallOffset) = (try ScratchFolder(), Locked(TimeInterval(0)))
    let world = HostileWorld(seed: seed)
    let kinds = Self.kinds(world)
    let stations = try (0..<2).map { _ in try Station(folder, wallOffset) }
    let (count, lanes) = (Self.size, max(40, Self.size / 50))
    var cancelled = Set<UUID>()
    var ids = [UUID: HostileWorld.Write]()
    var random = SeededGenerator(seed: seed &+ 1)
    let chaos = stations.map { station in
      Task { try await self.run(station, kinds, seed: seed) }
    }
    // Some are sent at once, each in a lane of its own.
    let callers = Task {
      try await Self.submit(count / 4, stations.map { $0.client.store(for: kinds.single[1]) })
    }
    for number in 0..<count {
      let write = HostileWorld.Write(lane: number % lanes, number: number / lanes)
      let station = stations[number % 2]
      // A lane is sent one by one, or in batches.
      let mutation = kinds.single[Int.random(in: 0..<3, using: &random)]
      let id =
        write.lane % 3 == 0
        ? try await station.client.store(for: kinds.batched).enqueue(with: write).id
        : try await station.client.store(for: mutation).enqueue(with: write).id
      ids[id] = write
      let isUnwanted = Int.random(in: 0..<40, using: &random) == 0
      // One that runs is asked to end, and may be too late.
      if isUnwanted {
        cancelled.insert(id)
        _ = try? await station.storage.outbox.cancel(id)
      }
      if number % 50 == 0 {
        wallOffset.withLock { $0 = Double.random(in: -1e8...1e8, using: &random) }
        try await self.pauseForAWhile(station, lane: number % lanes, &random)
      }
    }
    try await Task.sleep(for: .seconds(1))
    for run in chaos { run.cancel() }
    for run in chaos { _ = await run.result }
    // The weather clears. Whatever is dead is retried by a person.
    world.becomeKind()
    for station in stations { station.network.send(status: .connected) }
    let outbox = stations[0].storage.outbox
    for pause in try outbox.pauses.keys { try await outbox.resume(pause) }
    let replayers = try stations.map { try $0.replayer(kinds) }
    let runs = replayers.map { replayer in Task { try await replayer.run() } }
    try await outbox.release(.authentication)
    var dead = Set<UUID>()
    while true {
      let left = try outbox.counts
      if left.pending + left.leased + left.dead == 0 { break }
      for entry in try outbox.entries(in: .dead) {
        dead.insert(entry.id)
        _ = try await outbox.retry(entry.id)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    for run in runs { run.cancel() }
    for run in runs { _ = await run.result }
    let sent = try await callers.value
    let carriedOut = Set(world.applied.values.map { $0.lane })
    #expect(sent.isSubset(of: carriedOut), "seed \(seed)")
    #expect(Set((1...count / 4).map { -$0 }).isSubset(of: carriedOut), "seed \(seed)")
    self.check(world, ids, cancelled, dead, seed)
    for station in stations { try await station.storage.close() }
  }

  /// Submits so many writes, some at a time.
  ///
  /// - Returns: The lanes of those that the server has, as the callers were told.
  private static func submit(
    _ count: Int, _ stores: [QueryStore<MutationState<HostileWorld.Write, Void>>]
  ) async throws -> Set<Int> {
    var sent = Set<Int>()
    for start in stride(from: 1, through: count, by: 10) {
      try await withThrowingTaskGroup(of: Int?.self) { group in
        for number in start..<min(start + 10, count + 1) {
          group.addTask {
            let write = HostileWorld.Write(lane: -number, number: 0)
            switch try await stores[number % 2].submit(with: write) {
            case .sent: return -number
            case .saved: return nil
            }
          }
        }
        for try await lane in group { if let lane { sent.insert(lane) } }
      }
    }
    return sent
  }

  /// A process whose network comes and goes, and which is stopped and started.
  private func run(_ station: Station, _ kinds: Kinds, seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed &+ UInt64(station.network.subscriberCount) &+ 7)
    while !Task.isCancelled {
      let replayer = try station.replayer(kinds)
      let run = Task { try await replayer.run() }
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        let statuses: [NetworkConnectionStatus] = [
          .connected, .connected, .disconnected, .requiresConnection,
        ]
        station.network.send(status: statuses.randomElement(using: &random) ?? .connected)
        let time = Int.random(in: 1...60, using: &random)
        try? await Task.sleep(for: .milliseconds(time))
      }
      run.cancel()
      _ = await run.result
    }
  }

  private func pauseForAWhile(
    _ station: Station, lane: Int, _ random: inout SeededGenerator
  ) async throws {
    let pauses: [OutboxPause] = [
      .everything, .lane("lane-\(lane)"), .name("send-low"), .host("host-\(lane % 5)"),
    ]
    let pause = pauses.randomElement(using: &random) ?? .everything
    try await station.storage.outbox.pause(pause)
    if Bool.random(using: &random) { return try await station.storage.outbox.resume(pause) }
    Task {
      try await Task.sleep(for: .milliseconds(40))
      try await station.storage.outbox.resume(pause)
    }
  }

  private func check(
    _ world: HostileWorld, _ ids: [UUID: HostileWorld.Write], _ cancelled: Set<UUID>,
    _ dead: Set<UUID>, _ seed: UInt64
  ) {
    let applied = world.applied
    let done = Set(applied.values.map { [$0.lane, $0.number] })
    let lost = ids.filter { !cancelled.contains($0.key) }
      .filter { !done.contains([$0.value.lane, $0.value.number]) }
    #expect(lost.isEmpty, "seed \(seed)")
    #expect(world.overlaps.isEmpty, "seed \(seed)")
    // One that was dead goes on with its lane's later ones before it, and is out of order by right.
    let late = Set(dead.compactMap { ids[$0] }.map { [$0.lane, $0.number] })
    for (lane, numbers) in world.firstArrivals {
      let ordered = numbers.filter { !late.contains([lane, $0]) }
      #expect(ordered == ordered.sorted(), "lane \(lane), seed \(seed)")
    }
  }
}
