import Foundation
import TestSupport
import Testing

@testable import Query

/// What `mutate` waits for, and when it says that the mutation is queued.
@Suite(.warningsAreIssues)
struct DurableAttachmentFetchTests {
  private let options = MutationPersistenceOptions<Note>(scope: .by { "note-\($0.id)" })

  @Test func offlineNoAttemptIsMadeAndNoneIsCharged() async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    let error = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    let queued = try #require(error as? MutationQueuedError)
    #expect(queued.waitReason == .offline)
    #expect(save.calls.count == 0)
    let entry = try #require(try device.outbox.entry(queued.id))
    #expect(entry.attempts == 0)
    #expect(entry.idempotencyKey == queued.idempotencyKey)
    #expect(store.history.last?.isQueued == true)
    #expect(store.history.last?.mutationID == queued.id)
  }

  @Test func attemptsWhileOfflineMakesThem() async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let save = SaveNote().persisted(as: "save-note").attemptsWhileOffline()
    let store = device.launch().store(for: save)
    #expect(try await store.mutate(with: Note(id: 1, text: "a")) == "A")
  }

  @Test func aSecondOneOfALaneWaitsForTheFirstAndIsThenSent() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      if call.note.text == "a" { try await gate.pass() }
      return call.note.text
    }
    let store = device.launch().store(for: save.persisted(as: "save-note", self.options))
    async let first = store.mutate(with: Note(id: 1, text: "a"))
    await gate.arrival()
    async let second = store.mutate(with: Note(id: 1, text: "b"))
    while try device.outbox.counts.pending == 0 { await Task.yield() }
    #expect(save.calls.count == 1)
    gate.open()
    let results = try await [first, second]
    #expect(results == ["a", "b"])
    #expect(save.calls.elements.map(\.note.text) == ["a", "b"])
  }

  @Test func aSecondOneIsQueuedAsSoonAsTheFirstIsNotRunningAnyMore() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      try await gate.pass()
      throw HTTPStatusError(statusCode: 503)
    }
    let store = device.launch().store(for: save.persisted(as: "save-note", self.options))
    async let first = failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    await gate.arrival()
    async let second = failure { try await store.mutate(with: Note(id: 1, text: "b")) }
    while try device.outbox.counts.pending == 0 { await Task.yield() }
    gate.open()
    #expect((await first as? MutationQueuedError)?.waitReason == .backoff)
    #expect((await second as? MutationQueuedError)?.waitReason == .predecessor)
    #expect(save.calls.count == 1)
  }

  /// A mutation of whose notes the latest takes the place of one that waits.
  ///
  /// - Parameters:
  ///   - gate: The note "a" waits for it.
  ///   - refused: The text of a note that is refused; nil: none is.
  private func lane(
    of device: Device, behind gate: Gate, refusing refused: String? = nil
  ) -> (save: SaveNote, store: NoteStore) {
    let save = SaveNote { call in
      if call.note.text == "a" { try await gate.pass() }
      if let refused, call.note.text == refused { throw TestError("no \(refused)") }
      return call.note.text
    }
    var options = MutationPersistenceOptions<Note>(scope: .named("notes"), coalesce: .latest)
    if let refused { options.classify = { _, _ in .permanent(reason: "no \(refused)") } }
    return (save, device.launch().store(for: save.persisted(as: "save-note", options)))
  }

  /// The call that waits goes on with what has superseded its own: that is sent, and not its own once more.
  @Test func whatSupersedesAWaitingOneIsSentAsItWasEntered() async throws {
    let device = Device()
    let gate = Gate()
    let (save, store) = self.lane(of: device, behind: gate)
    async let first = store.mutate(with: Note(id: 1, text: "a"))
    await gate.arrival()
    async let second = store.mutate(with: Note(id: 1, text: "b"))
    while try device.outbox.counts.pending == 0 { await Task.yield() }
    let third = try await store.enqueue(with: Note(id: 1, text: "c"))
    gate.open()
    let results = try await [first, second]
    #expect(results == ["a", "c"])
    #expect(save.calls.elements.map(\.note.text) == ["a", "c"])
    #expect(save.calls.elements.last?.attempt?.idempotencyKey == third.idempotencyKey)
    #expect(try device.outbox.entries().isEmpty)
  }

  /// The task that sends it is that of another mutation.
  @Test(arguments: [true, false])
  func whatSupersedesAWaitingOneIsShownAsItEnds(isAccepted: Bool) async throws {
    let device = Device()
    let gate = Gate()
    let (_, store) = self.lane(of: device, behind: gate, refusing: isAccepted ? nil : "c")
    async let first = store.mutate(with: Note(id: 1, text: "a"))
    await gate.arrival()
    let second = Task { try await store.mutate(with: Note(id: 1, text: "b")) }
    while try device.outbox.counts.pending == 0 { await Task.yield() }
    let third = try await store.enqueue(with: Note(id: 1, text: "c"))
    gate.open()
    #expect(try await first == "a")
    let end = await second.result
    #expect((try? end.get()) == (isAccepted ? "c" : nil))
    let shown = try #require(store.history.first { $0.mutationID == third.id })
    #expect(!shown.isQueued)
    switch shown.currentResult {
    case .success(let text)?: #expect(isAccepted && text == "c")
    case .failure(let error)?: #expect(!isAccepted && "\(error)".contains("no c"))
    case nil: Issue.record("nothing is shown of it")
    }
  }

  /// The call that sends it is that of another mutation, and shows what became of that one.
  @Test func whatSupersedesARetriedOneIsShownAsItEnds() async throws {
    let device = Device()
    let gate = Gate()
    let (_, store) = self.lane(of: device, behind: gate)
    async let first = store.mutate(with: Note(id: 1, text: "a"))
    await gate.arrival()
    device.network.send(status: .disconnected)
    _ = await failure { try await store.mutate(with: Note(id: 1, text: "b")) }
    device.network.send(status: .connected)
    async let second = store.retryLatest()
    while store.history.last?.isLoading != true || store.history.last?.mutationID == nil {
      await Task.yield()
    }
    let third = try await store.enqueue(with: Note(id: 1, text: "c"))
    gate.open()
    let results = try await [first, second]
    #expect(results == ["a", "c"])
    let shown = try #require(store.history.first { $0.mutationID == third.id })
    #expect(!shown.isQueued)
    #expect(try shown.currentResult?.get() == "c")
  }

  @Test func whatWasCorrectedWhileItWaitedIsSentAsCorrected() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      if call.note.text == "a" { try await gate.pass() }
      return call.note.text
    }
    let store = device.launch().store(for: save.persisted(as: "save-note", self.options))
    async let first = store.mutate(with: Note(id: 1, text: "a"))
    await gate.arrival()
    async let second = store.mutate(with: Note(id: 1, text: "wrong"))
    while try device.outbox.counts.pending == 0 { await Task.yield() }
    let waiting = try #require(try device.outbox.entries().first { $0.state == .pending })
    _ = try await store.retry(waiting.id, with: Note(id: 1, text: "corrected"))
    gate.open()
    let results = try await [first, second]
    #expect(results == ["a", "corrected"])
    #expect(save.calls.elements.map(\.note.text) == ["a", "corrected"])
  }

  @Test func calledFromInsideAnAttemptOfTheSameLaneItIsQueuedAtOnce() async throws {
    let device = Device()
    let client = device.launch()
    let inner = Recorder<any Error>()
    let options = self.options
    let save = SaveNote { call in
      if call.note.text == "outer" {
        let store = client.store(for: SaveNote(path: ["inner"]).persisted(as: "inner", options))
        if let error = await failure({ try await store.mutate(with: Note(id: 1, text: "inner")) }) {
          inner.append(error)
        }
      }
      return call.note.text
    }
    let store = client.store(for: save.persisted(as: "save-note", options))
    #expect(try await store.mutate(with: Note(id: 1, text: "outer")) == "outer")
    #expect((inner.elements.first as? MutationQueuedError)?.waitReason == .predecessor)
    #expect(try device.outbox.counts.pending == 1)
  }

  @Test func twoMutationsThatCallOneAnotherAreQueuedInsteadOfWaitingForEver() async throws {
    let device = Device()
    let client = device.launch()
    let (both, called, errors) = (Gate(), Gate(), Recorder<any Error>())
    let save = SaveNote { call in
      if call.note.text == "inner" { return "" }
      if both.arrivals == 1 { both.open() }
      try await both.pass()
      // Each calls for the lane of the other one, which runs.
      let other = Note(id: 3 - call.note.id, text: "inner")
      let store = client.store(for: SaveNote(path: ["inner"]).persisted(as: "inner", self.options))
      if let error = await failure({ try await store.mutate(with: other) }) { errors.append(error) }
      if called.arrivals == 1 { called.open() }
      try await called.pass()
      return "outer"
    }
    let store = client.store(for: save.persisted(as: "save-note", self.options))
    async let first = store.mutate(with: Note(id: 1, text: "a"))
    await both.arrival()
    async let second = store.mutate(with: Note(id: 2, text: "b"))
    let results = try await [first, second]
    #expect(results == ["outer", "outer"])
    #expect(errors.elements.compactMap { $0 as? MutationQueuedError }.count == 2)
    #expect(try device.outbox.counts.pending == 2)
  }

  @Test func anAttemptDoesNotWaitForATicketsOutcome() async throws {
    let device = Device()
    let client = device.launch()
    let errors = Recorder<any Error>()
    let options = self.options
    let save = SaveNote { call in
      if call.note.text == "outer" {
        let store = client.store(for: SaveNote(path: ["inner"]).persisted(as: "inner", options))
        let ticket = try await store.enqueue(with: Note(id: 1, text: "inner"))
        if let error = await failure({ try await ticket.outcome() }) { errors.append(error) }
      }
      return call.note.text
    }
    let store = client.store(for: save.persisted(as: "save-note", options))
    #expect(try await store.mutate(with: Note(id: 1, text: "outer")) == "outer")
    let queued = try #require(errors.elements.first as? MutationQueuedError)
    #expect(queued.underlyingError is MutationWaitError)
    #expect("\(queued)".contains("dependsOn:"))
  }

  @Test func aConflictsResolutionDoesNotWaitForItsOwnLane() async throws {
    let device = Device()
    let client = device.launch()
    let errors = Recorder<any Error>()
    let options = self.options
    var conflicting = options
    conflicting.onConflict = { note, _, _ in
      let store = client.store(for: SaveNote(path: ["inner"]).persisted(as: "inner", options))
      if let error = await failure({ try await store.mutate(with: note) }) { errors.append(error) }
      return .drop
    }
    let save = SaveNote { _ in throw HTTPStatusError(statusCode: 409) }
    let store = client.store(for: save.persisted(as: "save-note", conflicting))
    #expect(await failure { try await store.mutate(with: Note(id: 1, text: "a")) } != nil)
    #expect(errors.elements.first is MutationQueuedError)
  }

  @Test func aCallerThatIsCancelledWhileItWaitsLearnsThatItsMutationIsSaved() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      try await gate.pass()
      return call.note.text
    }
    let store = device.launch().store(for: save.persisted(as: "save-note", self.options))
    async let first = store.mutate(with: Note(id: 1, text: "a"))
    await gate.arrival()
    let second = Task { try await store.mutate(with: Note(id: 1, text: "b")) }
    while try device.outbox.counts.pending == 0 { await Task.yield() }
    second.cancel()
    let queued = try #require(await failure { try await second.value } as? MutationQueuedError)
    #expect(queued.underlyingError is CancellationError)
    #expect(try device.outbox.entry(queued.id)?.state == .pending)
    gate.open()
    #expect(try await first == "a")
  }

  @Test func cancellingTheAttemptLeavesTheRowPendingDueAtOnceAndUncharged() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      try await gate.pass()
      return call.note.text
    }
    let store = device.launch().store(for: save.persisted(as: "save-note", .init(maxAttempts: 1)))
    let task = Task { try await store.mutate(with: Note(id: 1, text: "a")) }
    await gate.arrival()
    task.cancel()
    #expect(await failure { try await task.value } != nil)
    while try device.outbox.counts.leased > 0 { await Task.yield() }
    let entry = try #require(try device.outbox.entries().first)
    #expect(entry.state == .pending)
    #expect(entry.waitReason == nil)
    #expect(entry.failures == 0)
    #expect(entry.maybeApplied)
  }

  @Test func resettingTheStoreCancelsTheAttemptAndKeepsTheRow() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      try await gate.pass()
      return call.note.text
    }
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    let task = Task { try await store.mutate(with: Note(id: 1, text: "a")) }
    await gate.arrival()
    store.reset()
    #expect(await failure { try await task.value } != nil)
    while try device.outbox.counts.leased > 0 { await Task.yield() }
    #expect(try device.outbox.counts.pending == 1)
  }

  @Test func aTaskThatIsRunLaterIsCommittedWhenItRuns() async throws {
    let device = Device()
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    let task = store.mutateTask(with: Note(id: 1, text: "a"))
    #expect(try device.outbox.counts.rows == OutboxCounts())
    #expect(try await task.runIfNeeded() == "A")
    #expect(store.history.last?.mutationID != nil)
  }

  @Test func dependenciesAreKeptWithTheRow() async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    let first = try await store.enqueue(with: Note(id: 1, text: "a"))
    device.network.send(status: .connected)
    let error = await failure {
      try await store.mutate(with: Note(id: 2, text: "b"), dependsOn: [first.id])
    }
    #expect((error as? MutationQueuedError)?.waitReason == .dependency)
    let unknown = UUID()
    let refused = await failure {
      try await store.mutate(with: Note(id: 3, text: "c"), dependsOn: [unknown])
    }
    #expect(refused as? OutboxError == .unknownDependencies([unknown]))
  }

  @Test func aPauseQueuesWhatIsMutated() async throws {
    let device = Device()
    try await device.outbox.pause()
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    let error = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    #expect((error as? MutationQueuedError)?.waitReason == .paused)
    #expect(save.calls.count == 0)
  }
}
