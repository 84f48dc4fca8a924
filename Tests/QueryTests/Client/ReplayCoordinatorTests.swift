import Foundation
import TestSupport
import Testing

@testable import Query

/// Replay §5: a refetch on reconnect waits for the mutations that change what it fetches.
@Suite(.warningsAreIssues)
struct ReplayCoordinatorTests {
  private struct NotesQuery: QueryRequest {
    let path: QueryPath
    let fetches: Counter

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int { self.fetches.increment() }
  }

  @Test func aRefetchWaitsForTheMutationsThatTouchItsQuery() async throws {
    let device = Device()
    let client = device.launch()
    let options = MutationPersistenceOptions<Note>(invalidates: { [["notes", $0.id]] })
    let save = SaveNote().persisted(as: "save-note", options)
    let ticket = try await client.store(for: save).enqueue(with: Note(id: 1, text: "a"))
    _ = client.replayCoordinator.runBegan { _ in true }
    #expect(client.replayCoordinator.touching(["notes", 1, "page"]).map(\.ids) == [[ticket.id]])
    #expect(client.replayCoordinator.touching(["notes", 2]).isEmpty)
    #expect(client.replayCoordinator.touching(["notes"]).isEmpty)

    let isOnline = ManualCondition(false)
    let fetches = Counter()
    let query = NotesQuery(path: ["notes", 1], fetches: fetches)
      .refetchOnChange(of: isOnline).enableAutomaticFetching(onlyWhen: .always(true))
    let store = QueryStore.detached(
      query: query, initialValue: nil, initialContext: client.defaultContext)
    let ended = Recorder<Int?>()
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in ended.append(state.currentValue) }))
    await ended.wait { $0.contains(1) }
    isOnline.send(true)
    // One that does not wait is scheduled before this returns.
    #expect(!store.isLoading)
    try await device.outbox.cancel(ticket.id)
    await ended.wait { $0.contains(2) }
    #expect(fetches.value == 2)
    subscription.cancel()
  }

  @Test func whereNobodySendsNothingIsWaitedFor() async throws {
    let device = Device()
    let client = device.launch()
    let options = MutationPersistenceOptions<Note>(invalidates: { _ in [[]] })
    let store = client.store(for: SaveNote().persisted(as: "save-note", options))
    try await store.enqueue(with: Note(id: 1, text: "a"))
    #expect(client.replayCoordinator.touching(["notes"]).isEmpty)
    let run = client.replayCoordinator.runBegan { _ in true }
    #expect(client.replayCoordinator.touching(["notes"]).count == 1)
    client.replayCoordinator.runEnded(run)
    #expect(client.replayCoordinator.touching(["notes"]).isEmpty)
  }

  @Test func aMutationThatTheReplayerDoesNotKnowIsNamedOnceAsItBeginsToWait() async throws {
    let device = Device()
    let client = device.launch()
    let save = SaveNote().persisted(as: "save-note")
    _ = client.replayCoordinator.runBegan { $0.name == "other" }
    await withExpectedWarnings([.mutationNotRegistered(name: "save-note")]) {
      for id in 1...3 {
        _ = try? await client.store(for: save).enqueue(with: Note(id: id, text: "a"))
      }
      _ = try? await client.store(for: SaveNote(path: ["other"]).persisted(as: "other"))
        .enqueue(with: Note(id: 4, text: "b"))
    }
  }

  @Test func aMutationThatIsNotLiveAnyMoreIsNotWaitedFor() async throws {
    let device = Device()
    let mutations = TouchingMutations(outbox: device.outbox, ids: [UUID()])
    await mutations.wait(atMost: .seconds(3_600), by: QueryContext().sleep)
  }

  /// A test moves the clock, and waits for nothing.
  @Test func theWaitEndsByTheClockOfTheContext() async throws {
    let device = Device()
    let client = device.launch()
    let clock = MockQueryClock()
    client.defaultContext.queryClock = clock
    let options = MutationPersistenceOptions<Note>(invalidates: { [["notes", $0.id]] })
    try await client.store(for: SaveNote().persisted(as: "save-note", options))
      .enqueue(with: Note(id: 1, text: "a"))
    _ = client.replayCoordinator.runBegan { _ in true }
    let isOnline = ManualCondition(false)
    let query = NotesQuery(path: ["notes", 1], fetches: Counter())
      .refetchOnChange(of: isOnline).enableAutomaticFetching(onlyWhen: .always(true))
    let store = QueryStore.detached(
      query: query, initialValue: nil, initialContext: client.defaultContext)
    let ended = Recorder<Int?>()
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in ended.append(state.currentValue) }))
    await ended.wait { $0.contains(1) }
    isOnline.send(true)
    await clock.sleeper(within: .seconds(5))
    #expect(!store.isLoading)
    clock.advance(by: .seconds(5))
    await ended.wait { $0.contains(2) }
    subscription.cancel()
  }

  @Test func storesThatAreGoneAreForgottenAndOthersKept() async throws {
    let device = Device()
    let client = device.launch()
    let options = MutationPersistenceOptions<Note>(invalidates: { _ in [[]] })
    let kept = client.store(for: SaveNote().persisted(as: "save-note", options))
    try await kept.enqueue(with: Note(id: 1, text: "a"))
    for id in 1...100 {
      _ = QueryStore.detached(
        mutation: SaveNote(path: ["other", id]).persisted(as: "other", options),
        initialContext: client.defaultContext)
      // Few are not looked through each time that one comes.
      if id == 10 { #expect(client.replayCoordinator.knownStoreCount == 11) }
    }
    _ = client.replayCoordinator.runBegan { _ in true }
    #expect(client.replayCoordinator.touching(["notes"]).count == 1)
    #expect(client.replayCoordinator.knownStoreCount <= 32)
  }
}
