import Foundation
import TestSupport
import Testing

@testable import Query

/// What an attempt is given, and what its success leaves behind.
@Suite(.warningsAreIssues)
struct DurableAttachmentAttemptTests {
  @Test func anAttemptThatIsMadeAtOnceIsClaimedByTheCommitThatKeepsTheMutation() async throws {
    let fault = StorageError(operation: "claim", code: .inputOutput, message: "scripted")
    let storage = ScriptedStorage(outbox: { ScriptedOutbox($0, fault: Locked(fault)) })
    let store = QueryClient(storage: storage).store(for: SaveNote().persisted(as: "save-note"))
    #expect(try await store.mutate(with: Note(id: 1, text: "a")) == "A")
  }

  @Test func anAliasIsCommittedWithTheSuccessAndResolvedLater() async throws {
    let device = Device()
    let save = SaveNote { call in
      let attempt = try #require(call.attempt)
      if call.note.id == 1 {
        try attempt.publish(alias: "9F2C", value: "1337")
        #expect(try device.outbox.value(ofAlias: "9F2C") == nil)
        return "created"
      }
      return try attempt.resolve("9F2C")
    }.persisted(as: "save-note")
    try await device.launch().store(for: save).mutate(with: Note(id: 1, text: ""))
    #expect(
      try await device.launch().store(for: save).mutate(with: Note(id: 2, text: "")) == "1337")
  }

  @Test func anAliasIsOneIdentifierForEver() async throws {
    let device = Device()
    let errors = Recorder<any Error>()
    let save = SaveNote { call in
      let attempt = try #require(call.attempt)
      try attempt.publish(alias: "9F2C", value: "1337")
      do { try attempt.publish(alias: "9F2C", value: "7") } catch { errors.append(error) }
      return try attempt.resolve("9F2C")
    }.persisted(as: "save-note")
    #expect(
      try await device.launch().store(for: save).mutate(with: Note(id: 1, text: "")) == "1337")
    #expect(errors.elements.first as? OutboxError == .aliasTaken("9F2C"))
  }

  @Test func aMutationThatWaitsForAnAliasIsReleasedByItsPublication() async throws {
    let device = Device()
    let save = SaveNote { call in
      let attempt = try #require(call.attempt)
      if call.note.id == 2 { return try attempt.resolve("9F2C") }
      try attempt.publish(alias: "9F2C", value: "1337")
      return ""
    }.persisted(as: "save-note")
    let client = device.launch()
    let store = client.store(for: save)
    let first = try await store.enqueue(with: Note(id: 1, text: ""))
    let error = await failure { try await store.mutate(with: Note(id: 2, text: "")) }
    #expect((error as? MutationQueuedError)?.waitReason == .dependency)
    let second = try #require(try device.outbox.entries().last)
    #expect(second.waitReason == .dependency)
    #expect(second.failures == 0)
    let runner = try #require(try client.durableRunner(for: save))
    for id in [first.id, second.id] {
      let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
      let lease = try #require(claim.leases.first)
      #expect(lease.entry.id == id)
      _ = await runner.run(lease)
    }
    #expect(try device.outbox.entries().isEmpty)
  }

  @Test func appliedWithoutAResultCountsAsSucceeded() async throws {
    let device = Device()
    let applied = MutationAppliedError(underlying: TestError())
    let save = SaveNote(path: ["applied"]) { _ in throw applied }.persisted(as: "applied")
    let store = device.launch().store(for: save)
    let error = await withExpectedWarnings(
      [.mutationAppliedWithoutResult(name: "applied", error: applied)]
    ) {
      await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    }
    #expect(error is MutationAppliedError)
    let id = try #require(store.history.last?.mutationID)
    guard case .ended(let record) = try device.outbox.standing(of: id) else {
      Issue.record("not ended")
      return
    }
    #expect(record.state == .ended(.succeeded))
  }

  @Test func anAttemptThatTakesTooLongIsCancelledAndCountsAsALostAnswer() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { _ in
      try await gate.pass()
      return ""
    }
    let options = MutationPersistenceOptions<Note>(attemptTimeout: .milliseconds(1))
    let store = device.launch().store(for: save.persisted(as: "save-note", options))
    let error = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    let queued = try #require(error as? MutationQueuedError)
    #expect(queued.underlyingError is QueryTimeoutError)
    let entry = try #require(try device.outbox.entry(queued.id))
    #expect(entry.maybeApplied)
    #expect(entry.failures == 0)
  }

  @Test func aHandlerThatGoesOnAfterItsTimeIsLeftBehindAndNamed() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { _ in
      await gate.passIgnoringCancellation()
      return "late"
    }
    let options = MutationPersistenceOptions<Note>(attemptTimeout: .milliseconds(1))
    var context = QueryContext()
    context.attemptGrace = .milliseconds(1)
    let client = QueryClient(storage: device.storage, defaultContext: context)
    let store = client.store(for: save.persisted(as: "save-note", options))
    let error = await withExpectedWarnings([.mutationLeftBehind(name: "save-note")]) {
      await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    }
    let id = try #require((error as? MutationQueuedError)?.id)
    gate.open()
    // What it returns afterwards is dropped: the row goes on.
    #expect(try device.outbox.entry(id)?.state == .pending)
    #expect(store.currentValue == nil)
  }

  /// Its lane waits for it as for the handler.
  @Test(arguments: [false, true])
  func aConflictWhoseResolutionTakesTooLongCountsAsALostAnswer(_ ignores: Bool) async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { _ in throw HTTPStatusError(statusCode: 409) }
    var options = MutationPersistenceOptions<Note>(attemptTimeout: .milliseconds(200))
    options.onConflict = { _, _, _ in
      if ignores { await gate.passIgnoringCancellation() } else { try await gate.pass() }
      return .drop
    }
    var context = QueryContext()
    context.attemptGrace = ignores ? .milliseconds(1) : .seconds(60)
    let client = QueryClient(storage: device.storage, defaultContext: context)
    let store = client.store(for: save.persisted(as: "save-note", options))
    let warnings: [QueryWarning] = ignores ? [.mutationLeftBehind(name: "save-note")] : []
    let error = await withExpectedWarnings(warnings) {
      await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    }
    gate.open()
    let queued = try #require(error as? MutationQueuedError)
    #expect(queued.underlyingError is QueryTimeoutError)
    #expect(try device.outbox.entry(queued.id)?.state == .pending)
  }

  @Test func aLimitThatIsNotPositiveIsAFlaw() async throws {
    let options = MutationPersistenceOptions<Note>(attemptTimeout: .zero)
    let store = Device().launch().store(for: SaveNote().persisted(as: "save-note", options))
    let error = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    #expect(error as? MutationDeclarationError == .invalidLimit(name: "save-note"))
  }

  @Test func aSuccessInvalidatesTheQueriesThatItTouches() async throws {
    let device = Device()
    let client = device.launch()
    let options = MutationPersistenceOptions<Note>(invalidates: { [["notes", $0.id]] })
    let touched = client.store(for: NotesQuery(id: 1).persisted())
    let other = client.store(for: NotesQuery(id: 2).persisted())
    for store in [touched, other] { store.currentValue = "known" }
    try await device.storage.flush()
    try await client.store(for: SaveNote().persisted(as: "save-note", options))
      .mutate(with: Note(id: 1, text: "a"))
    #expect(touched.isInvalidated)
    #expect(!other.isInvalidated)
    try await device.storage.flush()
    #expect(device.launch().store(for: NotesQuery(id: 1).persisted()).isInvalidated)
  }

  @Test func theClientsDefaultRetryIsOffAndTheMutationsOwnIsNot() async throws {
    let device = Device()
    var context = QueryContext()
    context.queryDelayer = .noDelay
    let client = QueryClient(
      defaultContext: context.with(device.storage), storeCreator: .default(retryLimit: 3))
    let plain = SaveNote { _ in throw HTTPStatusError(statusCode: 503) }
    let first = client.store(for: plain.persisted(as: "plain"))
    _ = await failure { try await first.mutate(with: Note(id: 1, text: "a")) }
    #expect(plain.calls.count == 1)
    let own = SaveNote(path: ["own"]) { _ in throw HTTPStatusError(statusCode: 503) }
    let second = client.store(for: own.persisted(as: "own").retry(limit: 2))
    _ = await failure { try await second.mutate(with: Note(id: 1, text: "a")) }
    #expect(own.calls.count == 3)
    #expect(try device.outbox.entries().map(\.attempts) == [1, 1])
  }

  @Test func anOwnRetryNeverRepeatsWhatDidNotReachTheServer() async throws {
    let device = Device()
    let save = SaveNote { _ in throw URLError(.cannotConnectToHost) }
    let store = device.launch().store(for: save.retry(limit: 2).persisted(as: "save-note"))
    _ = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    #expect(save.calls.count == 1)
  }

  @Test func mutationsWithoutArgumentsOrResultAreDurableToo() async throws {
    let device = Device()
    let client = device.launch()
    let ping = client.store(for: Ping().persisted(as: "ping"))
    try await ping.mutate()
    let ticket = try await ping.enqueue()
    let runner = try #require(try client.durableRunner(for: Ping().persisted(as: "ping")))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    _ = await runner.run(try #require(claim.leases.first))
    try await ticket.outcome()
    #expect(device.launch().store(for: Ping().persisted(as: "ping")).history.count == 2)
  }
}

private struct NotesQuery: QueryRequest, Hashable {
  let id: Int
  var path: QueryPath { ["notes", self.id] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String { "" }
}

private struct Ping: MutationRequest, Hashable {
  func mutate(
    with arguments: Void,
    in context: QueryContext,
    with continuation: QueryContinuation<Void>
  ) async throws {}
}

extension QueryContext {
  fileprivate func with(_ storage: any QueryStorage) -> QueryContext {
    var context = self
    context.queryStorage = storage
    return context
  }
}
