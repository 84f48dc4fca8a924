import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplay

/// An outbox in memory, a network and a clock that a test moves, and a replayer of them.
struct ReplayScratch {
  let clock = ManualClock()
  let network: MockNetworkObserver
  let storage: MemoryQueryStorage
  let replayer: MutationReplayer

  init(
    _ status: NetworkConnectionStatus = .connected,
    _ configuration: ReplayConfiguration = ReplayConfiguration(),
    outbox: ((any MutationOutbox) -> any MutationOutbox)? = nil
  ) {
    var configuration = configuration
    configuration.clock = self.clock.replayClock
    self.network = MockNetworkObserver(initialStatus: status)
    self.storage = MemoryQueryStorage(outboxClock: self.clock.outboxClock)
    let wrapped = outbox.map { [storage] in $0(storage.outbox) }
    self.replayer = MutationReplayer(
      outbox: wrapped ?? self.storage.outbox, network: self.network, configuration: configuration)
  }

  var outbox: any MutationOutbox { self.storage.outbox }

  /// Registers a runner that does what the test says.
  func runner(
    _ name: String = "edit", _ script: @escaping ScriptedRunner.Script = { _ in .success }
  ) throws -> ScriptedRunner {
    let runner = ScriptedRunner(name, outbox: self.outbox, script: script)
    try self.replayer.register(runner)
    return runner
  }

  /// Enqueues mutations, one after another.
  @discardableResult
  func enqueue(
    _ count: Int = 1, name: String = "edit", lane: String? = nil, host: String? = nil
  ) async throws -> [UUID] {
    var ids = [UUID]()
    for _ in 0..<count {
      let mutation = NewMutation(
        name: name, instance: "", lane: lane, host: host, coder: "json", arguments: Data())
      ids.append(try await self.outbox.enqueue(mutation, claiming: false).entry.id)
    }
    return ids
  }

  /// Runs the replayer as long as a closure does, and expects that it ends by being cancelled.
  func whileRunning<T: Sendable>(_ body: () async throws -> T) async throws -> T {
    let run = Task { try await self.replayer.run() }
    let result: Result<T, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    return try result.get()
  }

  /// Returns when the outbox's counts satisfy a closure.
  func counts(_ isReady: (OutboxCounts) -> Bool) async {
    for await counts in self.outbox.changes where isReady(counts) { return }
  }
}
