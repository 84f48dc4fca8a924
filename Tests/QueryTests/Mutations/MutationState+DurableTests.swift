import Foundation
import TestSupport
import Testing

@testable import Query

/// Of any number of durable mutations, a state shows the newest and those that run.
@Suite(.warningsAreIssues)
struct MutationStateDurableTests {
  private let device = Device()
  private let gate = Gate()
  private let save: SaveNote

  init() {
    self.save = SaveNote { [gate] call in
      if call.note.text == "slow" { try await gate.pass() }
      return call.note.text
    }
  }

  private var mutation: ModifiedQuery<SaveNote, some QueryModifier<SaveNote>> {
    self.save.persisted(as: "save-note")
  }

  /// Leases the lowest row, and runs it through a client's store.
  @discardableResult
  private func replay(_ client: QueryClient) async throws -> AttemptReport {
    let runner = try #require(try client.durableRunner(for: self.mutation))
    let claim = try await self.device.outbox.claim(
      ClaimRequest(.lowest(handledBy: [runner.handler])))
    return await runner.run(try #require(claim.leases.first))
  }

  private func enqueue(_ ids: ClosedRange<Int>, _ text: String = "a", in store: NoteStore)
    async throws
  {
    for id in ids { try await store.enqueue(with: Note(id: id, text: text)) }
  }

  @Test func theNewestFiftyAreShownAndAllAreCounted() async throws {
    let store = self.device.launch().store(for: self.mutation)
    try await self.enqueue(1...120, in: store)
    #expect(store.history.map(\.arguments.id) == Array(71...120))
    #expect(try self.device.outbox.counts.rows == OutboxCounts(pending: 120))
    #expect(store.state.durableTasks.count == 50)
    let next = self.device.launch().store(for: self.mutation)
    #expect(next.history.map(\.arguments.id) == Array(71...120))
    #expect(next.history.allSatisfy { $0.isQueued })
    #expect(next.state.durableTasks.count == 50)
  }

  @Test func anOldOneIsShownAtItsPlaceWhileItRuns() async throws {
    let client = self.device.launch()
    let store = client.store(for: self.mutation)
    try await self.enqueue(1...2, "slow", in: store)
    try await self.enqueue(3...60, in: store)
    let first = Task { try await self.replay(client) }
    await self.gate.arrival(1)
    let second = Task { try await self.replay(client) }
    await self.gate.arrival(2)
    #expect(store.history.map(\.arguments.id) == [1, 2] + Array(11...60))
    #expect(store.history.prefix(3).map(\.status.isLoading) == [true, true, false])
    #expect(!store.isLoading)
    self.gate.open()
    _ = try await (first.value, second.value)
    #expect(store.history.map(\.arguments.id) == Array(11...60))
    #expect(store.state.durableTasks.count == 50)
    #expect(try self.device.outbox.counts.rows == OutboxCounts(pending: 58))
  }

  @Test func oneThatRunsIsNotPushedOut() async throws {
    let client = self.device.launch()
    let store = client.store(for: self.mutation)
    let slow = Task { try await store.mutate(with: Note(id: 1, text: "slow")) }
    await self.gate.arrival()
    try await self.enqueue(2...70, in: store)
    #expect(store.history.map(\.arguments.id) == [1] + Array(21...70))
    self.gate.open()
    #expect(try await slow.value == "slow")
    #expect(store.history.map(\.arguments.id) == Array(21...70))
  }

  @Test func aLimitOfItsOwnHoldsForDurableOnesToo() async throws {
    let client = self.device.launch()
    let mutation = self.mutation.maxHistory(length: 80)
    let store = client.store(for: mutation)
    try await self.enqueue(1...100, in: store)
    #expect(store.history.map(\.arguments.id) == Array(21...100))
    #expect(store.state.durableTasks.count == 80)
    #expect(self.device.launch().store(for: mutation).history.count == 80)
  }

  @Test func drainingShowsEachOutcomeInItsPlaceAndReadsNoRowAgain() async throws {
    let storage = ScriptedStorage(self.device.storage)
    let client = QueryClient(storage: storage)
    let store = client.store(for: self.mutation)
    try await self.enqueue(1...300, in: store)
    storage.scripted.reads.removeAll()
    for _ in 1...290 { try await self.replay(client) }
    #expect(storage.scripted.reads.elements.isEmpty)
    #expect(store.history.map(\.arguments.id) == Array(251...300))
    #expect(
      store.history.map(\.isQueued)
        == Array(repeating: false, count: 40) + Array(repeating: true, count: 10))
    for entry in store.history.prefix(40) { #expect(try entry.currentResult?.get() == "a") }
  }

  @Test func aNewStoreReadsOnlyWhatItShows() async throws {
    try await self.enqueue(1...300, in: self.device.launch().store(for: self.mutation))
    let storage = ScriptedStorage(self.device.storage)
    let store = QueryClient(storage: storage).store(for: self.mutation)
    #expect(store.history.count == 50)
    #expect(storage.scripted.reads.elements == [50])
  }

  @Test func aTaskThatIsDroppedUnrunLeavesNothing() async throws {
    let store = self.device.launch().store(for: self.mutation)
    try await self.enqueue(1...1, in: store)
    store.mutateTask(with: Note(id: 2, text: "a")).cancel()
    #expect(store.state.durableTasks.count == 1)
    store.reset()
    #expect(store.state.durableTasks.isEmpty)
  }
}
