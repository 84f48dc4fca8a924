import Foundation
import TestSupport
import Testing

@testable import Query

/// Enqueueing, tickets, and what runs leased rows.
@Suite(.warningsAreIssues)
struct QueryStoreDurableTests {
  @Test func enqueueOnlyCommits() async throws {
    let device = Device()
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    #expect(save.calls.count == 0)
    #expect(try device.outbox.entry(ticket.id)?.state == .pending)
    #expect(store.history.last?.isQueued == true)
    #expect(store.history.last?.mutationID == ticket.id)
    #expect(store.error == nil)
  }

  /// A storage with a script, and the client whose store enqueues.
  private func scripted() -> (ScriptedStorage, QueryClient) {
    let storage = ScriptedStorage()
    return (storage, QueryClient(storage: storage))
  }

  /// A replayer may be faster than the call, whose thread may stand still behind the commit.
  @Test(arguments: [false, true])
  func whatIsSentBeforeEnqueueReturnsIsListedOnceAndHasEnded(_ isOfOther: Bool) async throws {
    let (storage, client) = self.scripted()
    let other = QueryClient(storage: storage)
    let save = SaveNote().persisted(as: "save-note")
    let store = client.store(for: save)
    let runner = try #require(try (isOfOther ? other : client).durableRunner(for: save))
    storage.scripted.afterEnqueueing.withLock { script in
      script = { id in
        let claim = try await storage.outbox.claim(ClaimRequest(.mutation(id)))
        _ = await runner.run(try #require(claim.leases.first))
      }
    }
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    #expect(try await ticket.outcome() == "A")
    #expect(store.history.map(\.mutationID) == [ticket.id])
    #expect(store.queuedCount == 0)
    #expect(try store.history.last?.currentResult?.get() == "A")
    #expect(store.currentValue == "A")
  }

  @Test func whatIsBeingSentWhenEnqueueReturnsIsListedOnce() async throws {
    let (storage, client) = self.scripted()
    let gate = Gate()
    let save = SaveNote { call in
      try await gate.pass()
      return call.note.text
    }.persisted(as: "save-note")
    let store = client.store(for: save)
    let runner = try #require(try client.durableRunner(for: save))
    let report = Locked<Task<AttemptReport, Never>?>(nil)
    storage.scripted.afterEnqueueing.withLock { script in
      script = { id in
        let claim = try await storage.outbox.claim(ClaimRequest(.mutation(id)))
        let lease = try #require(claim.leases.first)
        report.withLock { $0 = Task { await runner.run(lease) } }
        await gate.arrival()
      }
    }
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    #expect(store.history.map(\.mutationID) == [ticket.id])
    // What is shown is the attempt that runs.
    #expect(store.isLoading)
    gate.open()
    _ = await report.withLock { $0 }?.value
    #expect(store.history.map(\.mutationID) == [ticket.id])
    #expect(store.queuedCount == 0)
    #expect(try store.history.last?.currentResult?.get() == "a")
  }

  @Test func withoutPersistedItThrows() async throws {
    let device = Device()
    let store = device.launch().store(for: SaveNote())
    let error = await failure { try await store.enqueue(with: Note(id: 1, text: "a")) }
    #expect(error as? MutationDeclarationError == .notPersisted(mutation: "\(store.path)"))
  }

  @Test func aTicketWaitsForTheOutcomeWhoeverSendsIt() async throws {
    let device = Device()
    let save = SaveNote().persisted(as: "save-note")
    let ticket = try await device.launch().store(for: save).enqueue(with: Note(id: 1, text: "a"))
    async let outcome = ticket.outcome()
    let runner = try #require(try device.launch().durableRunner(for: save))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    _ = await runner.run(try #require(claim.leases.first))
    #expect(try await outcome == "A")
  }

  @Test func aTicketComesBackAfterARestart() async throws {
    let device = Device()
    let save = SaveNote().persisted(as: "save-note")
    let ticket = try await device.launch().store(for: save).enqueue(with: Note(id: 1, text: "a"))
    let store = device.launch().store(for: save)
    let again = try MutationTicket<String>(id: ticket.id, in: store)
    #expect(again.idempotencyKey == ticket.idempotencyKey)
    try await device.outbox.cancel(ticket.id)
    let error = await failure { try await again.outcome() }
    #expect(error as? MutationEndedError == MutationEndedError(id: ticket.id, reason: .cancelled))
    let unknown = UUID()
    #expect(throws: MutationEndedError(id: unknown, reason: .unknown)) {
      try MutationTicket<String>(id: unknown, in: store)
    }
  }

  @Test func aDeadRowEndsTheWaitOfItsTicket() async throws {
    let device = Device()
    let save = SaveNote { _ in throw HTTPStatusError(statusCode: 422) }.persisted(as: "save-note")
    let client = device.launch()
    let ticket = try await client.store(for: save).enqueue(with: Note(id: 1, text: "a"))
    let runner = try #require(try client.durableRunner(for: save))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    _ = await runner.run(try #require(claim.leases.first))
    let error = await failure { try await ticket.outcome() }
    #expect((error as? MutationDeadError)?.reason == .rejected)
  }

  @Test func aSupersededTicketGoesOnWithItsSuccessor() async throws {
    let device = Device()
    let save = SaveNote().persisted(
      as: "save-note", .init(scope: .by { "note-\($0.id)" }, coalesce: .latest))
    let client = device.launch()
    let first = try await client.store(for: save).enqueue(with: Note(id: 1, text: "a"))
    _ = try await client.store(for: save).enqueue(with: Note(id: 1, text: "ab"))
    #expect(try device.outbox.counts.pending == 1)
    let runner = try #require(try client.durableRunner(for: save))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    _ = await runner.run(try #require(claim.leases.first))
    #expect(try await first.outcome() == "AB")
  }

  @Test func cancellingAWaitDoesNothingToTheMutation() async throws {
    let device = Device()
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    let task = Task { try await ticket.outcome() }
    task.cancel()
    #expect(await failure { try await task.value } is CancellationError)
    #expect(try device.outbox.entry(ticket.id)?.state == .pending)
  }

  @Test(arguments: ["", String(repeating: "n", count: 201), "http/1"])
  func aNameThatCannotBeIsRefused(name: String) async throws {
    let device = Device()
    let client = device.launch()
    let save = SaveNote().persisted(as: name)
    let error = await failure {
      try await client.store(for: save).mutate(with: Note(id: 1, text: ""))
    }
    #expect(error as? MutationDeclarationError == .invalidName(name))
    #expect(throws: MutationDeclarationError.invalidName(name)) {
      try client.durableRunner(for: save)
    }
  }

  @Test func limitsOfZeroAndCoalescingWithoutAScopeAreRefused() async throws {
    let client = Device().launch()
    let note = Note(id: 1, text: "")
    let never = MutationDeclarationError.invalidLimit(name: "save")
    for options in [
      MutationPersistenceOptions<Note>(maxAttempts: 0), .init(maxAge: .zero),
    ] {
      let store = client.store(for: SaveNote(path: ["\(options)"]).persisted(as: "save", options))
      #expect(
        await failure { try await store.enqueue(with: note) } as? MutationDeclarationError == never)
    }
    let coalescing = SaveNote().persisted(as: "save", .init(coalesce: .latest))
    #expect(throws: MutationDeclarationError.coalescesWithoutScope(name: "save")) {
      try client.durableRunner(for: coalescing)
    }
  }

  /// A release that forgot to raise the version, for example.
  @Test func argumentsThatCannotBeReadWaitForAProgramThatCan() async throws {
    let device = Device()
    let client = device.launch()
    let save = SaveNote().persisted(as: "save-note")
    let ticket = try await device.outbox.enqueue(
      NewMutation(
        name: "save-note", instance: #"["save-note"]"#, coder: "json", arguments: Data("x".utf8)),
      claiming: false)
    let runner = try #require(try client.durableRunner(for: save))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    guard case .pending(_, .handler) = await runner.run(try #require(claim.leases.first)) else {
      Issue.record("not waiting")
      return
    }
    let entry = try #require(try device.outbox.entry(ticket.entry.id))
    #expect(entry.state == .pending)
    #expect(entry.waitReason == .handler)
    #expect(entry.failures == 0)
    #expect(entry.lastError != nil)
    #expect(try device.outbox.why(entry.id).hasPrefix("Its arguments could not be read ("))
  }

  @Test func aLeaseThatIsLostCancelsTheAttemptAndDropsItsResult() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      try await gate.pass()
      return call.note.text
    }.persisted(as: "save-note")
    let client = device.launch()
    _ = try await client.store(for: save).enqueue(with: Note(id: 1, text: "a"))
    let runner = try #require(try client.durableRunner(for: save))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    let lease = try #require(claim.leases.first)
    async let report = runner.run(lease)
    await gate.arrival()
    lease.revoke(.lost)
    guard case .leaseLost = await report else {
      Issue.record("not lost")
      return
    }
    #expect(try device.outbox.counts.leased == 1)
  }

  @Test func aCancelRequestEndsTheAttemptAndTheMutation() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      try await gate.pass()
      return call.note.text
    }.persisted(as: "save-note")
    let store = device.launch().store(for: save)
    let task = Task { try await store.mutate(with: Note(id: 1, text: "a")) }
    await gate.arrival()
    let id = try #require(try device.outbox.entries().first?.id)
    #expect(try await device.outbox.cancel(id) == false)
    #expect(
      await failure { try await task.value } as? MutationEndedError
        == MutationEndedError(id: id, reason: .cancelled))
    #expect(try device.outbox.entries().isEmpty)
  }
}
