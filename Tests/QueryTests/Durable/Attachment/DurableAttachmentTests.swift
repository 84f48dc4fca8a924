import Foundation
import TestSupport
import Testing

@testable import Query

/// The row is there before anything is sent, and gone only with the success.
@Suite(.warningsAreIssues)
struct DurableAttachmentTests {
  @Test func theRowIsCommittedAndLeasedBeforeTheHandlerIsCalled() async throws {
    let device = Device()
    let seen = Recorder<OutboxEntry>()
    let save = SaveNote { call in
      for entry in try device.outbox.entries() { seen.append(entry) }
      return call.note.text
    }
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    #expect(try await store.mutate(with: Note(id: 1, text: "a")) == "a")
    let entry = try #require(seen.elements.first)
    #expect(entry.state == .leased)
    #expect(entry.name == "save-note")
    #expect(entry.attempts == 1)
    let attempt = try #require(save.calls.elements.first?.attempt)
    #expect(attempt.id == entry.id)
    #expect(attempt.idempotencyKey == entry.idempotencyKey)
    #expect(attempt.number == 1)
    #expect(!attempt.isReplay)
    #expect(!attempt.maybeApplied)
    #expect(try device.outbox.entries().isEmpty)
  }

  @Test func theHistoryHasTheOutcomeWhenTheRowIsGone() async throws {
    let device = Device()
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    try await store.mutate(with: Note(id: 1, text: "a"))
    let id = try #require(store.history.last?.mutationID)
    guard case .ended(let record) = try device.outbox.standing(of: id) else {
      Issue.record("not ended")
      return
    }
    #expect(record.state == .ended(.succeeded))
    #expect(record.result == Data(#""A""#.utf8))
    #expect(store.history.last?.isQueued == false)
  }

  @Test func twoCallsAreTwoRowsWithTwoKeys() async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    for _ in 1...2 { _ = await failure { try await store.mutate(with: Note(id: 1, text: "a")) } }
    let entries = try device.outbox.entries()
    #expect(entries.count == 2)
    #expect(Set(entries.map(\.idempotencyKey)).count == 2)
  }

  @Test func whatCannotBeCommittedIsThrownAndNothingIsSentShownOrKept() async throws {
    let device = Device()
    try await device.storage.close()
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    let events = Recorder<Bool>()
    let subscription = store.subscribe(
      with: MutationEventHandler(onStateChanged: { state, _ in events.append(state.isLoading) }))
    let error = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    #expect((error as? StorageError)?.code == .misuse)
    #expect(save.calls.count == 0)
    #expect(store.history.isEmpty)
    #expect(!events.elements.contains(true))
    subscription.cancel()
  }

  @Test func argumentsThatDoNotEncodeAreRefused() async throws {
    struct Unspeakable: Error {}
    struct Coder: QueryCoder {
      let name = "refusing"
      func encode<T: Encodable>(_: T) throws -> Data { throw Unspeakable() }
      func decode<T: Decodable>(_: T.Type, from: Data) throws -> T { throw Unspeakable() }
    }
    let device = Device()
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note", .init(coder: Coder())))
    let error = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    #expect(error is Unspeakable)
    #expect(try device.outbox.entries().isEmpty)
    #expect(save.calls.count == 0)
  }

  @Test func withoutAStorageNothingIsSentUndurably() async throws {
    let save = SaveNote()
    let store = QueryClient().store(for: save.persisted(as: "save-note"))
    let mutated = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    let enqueued = await failure { try await store.enqueue(with: Note(id: 1, text: "a")) }
    #expect(mutated is StorageError)
    #expect(enqueued is StorageError)
    #expect(save.calls.count == 0)
  }

  @Test func aRowHasWhatItsOptionsSaid() async throws {
    let device = Device()
    let save = SaveNote().persisted(
      as: "save-note",
      .init(
        scope: .by { "note-\($0.id)" }, onFailure: .halt, maxAttempts: 7, maxAge: .seconds(60),
        version: 3, host: { _ in "notes.example" }))
    let ticket = try await device.launch().store(for: save).enqueue(with: Note(id: 4, text: "a"))
    let entry = try #require(try device.outbox.entry(ticket.id))
    #expect(entry.lane == "note-4")
    #expect(entry.onFailure == .halt)
    #expect(entry.maxAttempts == 7)
    #expect(entry.maxAge == .seconds(60))
    #expect(entry.version == 3)
    #expect(entry.host == "notes.example")
    #expect(entry.instance == #"["save-note"]"#)
    #expect(entry.idempotencyKey == ticket.idempotencyKey)
  }

  @Test func resetForgetsWhatEndedAndTouchesNoLiveRow() async throws {
    let device = Device()
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    try await store.mutate(with: Note(id: 1, text: "a"))
    let waiting = try await store.enqueue(with: Note(id: 2, text: "b"))
    store.reset()
    #expect(store.history.isEmpty)
    // The history is cleared behind the caller's back.
    while try device.outbox.history(of: "save-note", instance: #"["save-note"]"#).count > 1 {
      await Task.yield()
    }
    #expect(try device.outbox.entry(waiting.id) != nil)
  }

  /// The ways to make the latest attempt once more.
  enum Retry: CaseIterable, Sendable {
    case call, task, fetch

    func callAsFunction(_ store: NoteStore) async throws -> String? {
      switch self {
      case .call: try await store.retryLatest()
      case .task: try await store.retryLatestTask().runIfNeeded()
      case .fetch: try await store.fetch().returnValue
      }
    }
  }

  @Test(arguments: Retry.allCases)
  func retryLatestOfALiveRowSendsItWithItsKey(_ retry: Retry) async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    _ = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    let queued = try #require(try device.outbox.entries().first)
    device.network.send(status: .connected)
    #expect(try await retry(store) == "A")
    #expect(save.calls.elements.map(\.attempt?.idempotencyKey) == [queued.idempotencyKey])
    #expect(store.history.count == 1)
    #expect(try device.outbox.entries().isEmpty)
  }

  @Test(arguments: Retry.allCases)
  func retryLatestOfACorrectedRowSendsTheCorrection(_ retry: Retry) async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    _ = await failure { try await store.mutate(with: Note(id: 1, text: "wrong")) }
    let queued = try #require(try device.outbox.entries().first)
    _ = try await store.retry(queued.id, with: Note(id: 1, text: "right"))
    device.network.send(status: .connected)
    #expect(try await retry(store) == "RIGHT")
    #expect(save.calls.elements.map(\.note.text) == ["right"])
  }

  /// A task is about the attempt that was the latest one when it was scheduled.
  @Test func aTaskThatIsRunLaterRetriesWhatWasTheLatestThen() async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    _ = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    let queued = try #require(try device.outbox.entries().first)
    let task = store.retryLatestTask()
    device.network.send(status: .connected)
    #expect(try await store.mutate(with: Note(id: 2, text: "b")) == "B")
    #expect(try await task.runIfNeeded() == "A")
    #expect(save.calls.elements.last?.attempt?.idempotencyKey == queued.idempotencyKey)
    #expect(store.history.map(\.arguments.text) == ["a", "b"])
    #expect(try device.outbox.entries().isEmpty)
  }

  /// The context of an attempt is handed on to what the handler does.
  @Test func aMutationInsideARetriedOneIsItsOwn() async throws {
    let device = Device()
    let client = device.launch()
    device.network.send(status: .disconnected)
    let inner = SaveNote(path: ["inner"])
    let save = SaveNote { call in
      let store = client.store(for: inner.persisted(as: "inner"))
      return try await store.mutateTask(with: Note(id: 7, text: "x"), using: call.context)
        .runIfNeeded()
    }
    let store = client.store(for: save.persisted(as: "save-note"))
    _ = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    device.network.send(status: .connected)
    #expect(try await store.retryLatestTask().runIfNeeded() == "X")
    #expect(inner.calls.count == 1)
  }

  @Test func retryLatestOfADeadRowSendsItWithItsKey() async throws {
    let device = Device()
    let failures = Counter()
    let save = SaveNote { call in
      if failures.increment() == 1 { throw HTTPStatusError(statusCode: 400) }
      return call.note.text
    }
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    let error = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    #expect((error as? HTTPStatusError)?.statusCode == 400)
    #expect(try await store.retryLatest() == "a")
    let keys = save.calls.elements.map(\.attempt?.idempotencyKey)
    #expect(keys.count == 2 && keys[0] == keys[1])
    #expect(try device.outbox.entries().isEmpty)
  }

  @Test func retryLatestOfOneThatEndedIsANewRow() async throws {
    let device = Device()
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    try await store.mutate(with: Note(id: 1, text: "a"))
    try await store.retryLatest()
    #expect(Set(save.calls.elements.map(\.attempt?.idempotencyKey)).count == 2)
    #expect(store.history.count == 2)
  }

  @Test func whatAnotherProcessDoesToARowIsShown() async throws {
    let device = Device()
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    #expect(store.history.last?.isQueued == true)
    try await device.outbox.cancel(ticket.id)
    #expect(store.history.last?.isQueued == false)
    guard case .result(.failure(let error as MutationEndedError))? = store.history.last?.status
    else {
      Issue.record("not ended")
      return
    }
    #expect(error == MutationEndedError(id: ticket.id, reason: .cancelled))
  }
}
