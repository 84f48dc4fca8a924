import Foundation
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// What a call has ended is shown as ended when the call returns.
@Suite(.warningsAreIssues) struct OptimisticEndingTests {
  private let folder: ScratchFolder
  private let server = NotesServer()

  init() throws { self.folder = try ScratchFolder() }

  private func change(
    _ options: MutationPersistenceOptions<NoteChange> = .init(), whenDead: DeadEdit = .dropped,
    send: @escaping @Sendable (NoteChange, MutationAttempt) async throws -> Void = { _, _ in
      throw TestError()
    }
  ) -> some MutationRequest<NoteChange, Bool> {
    ChangeNote(send: send).persisted(as: "change-note", options)
      .optimistic(
        on: { _ in NotesQuery() }, whenDead: whenDead,
        { notes, change, _ in change.apply(to: &notes, default: []) })
  }

  private var list: some QueryRequest<[Note], QueryState<[Note]?, [Note]>> {
    NotesQuery { [server] _ in server.list }.persisted()
  }

  /// A client that has fetched the list, and reads nothing more by itself.
  private func launch(
    _ storage: any QueryStorage, _ change: some MutationRequest<NoteChange, Bool>
  ) async throws -> (QueryClient, QueryStore<QueryState<[Note]?, [Note]>>) {
    let client = QueryClient.toldByHand(storage)
    try client.register(change)
    let notes = client.store(for: self.list)
    try await notes.fetch()
    try await storage.flush()
    await client.useUpItsReading()
    return (client, notes)
  }

  @Test(arguments: StorageKind.allCases)
  func whatIsCancelledIsGoneWhenTheCallReturns(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let change = self.change()
    let (client, notes) = try await self.launch(storage, change)
    let (other, others) = try await self.launch(storage, change)
    defer { withExtendedLifetime(other) {} }
    let id = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
    #expect(notes.currentValue?.map(\.id) == ["a"])
    #expect(try await storage.outbox.cancel(id))
    #expect(notes.currentValue == [])
    #expect(!notes.hasPendingChanges)
    #expect(others.currentValue == [])
    // It was never sent.
    #expect(!notes.isInvalidated)
  }

  /// No reading of the outbox takes part: a program may look at its list behind the call.
  @Test(arguments: StorageKind.allCases, [false, true])
  func whatIsSentIsShownAsSentWhenTheCallReturns(_ kind: StorageKind, _ isTicket: Bool) async throws
  {
    let storage = try kind.make(in: self.folder)
    let change = self.change { _, _ in }
    let (client, notes) = try await self.launch(storage, change)
    let store = client.store(for: change)
    for number in 1...20 {
      let note = NoteChange(id: "\(number)", text: "")
      if isTicket {
        let ticket = try await store.enqueue(with: note)
        let other = MutationReplayer(client: QueryClient.toldByHand(storage))
        try other.register(change)
        let sent = Task { try await other.replayOnce() }
        _ = try await ticket.outcome()
        #expect(!notes.hasPendingChanges)
        _ = try await sent.value
      } else {
        try await store.mutate(with: note)
        #expect(!notes.hasPendingChanges)
      }
      #expect(notes.currentValue?.count == number)
    }
    try await client.store(for: self.list).fetch()
    #expect(notes.currentValue == [])
  }

  /// A replayer lets the next reading show what it has sent. Until then the earlier write is taken
  /// for one that waits, and would be made over all that the server has.
  @Test(arguments: StorageKind.allCases, [200, 422])
  func whatIsSentIsNotCoveredByAnEarlierWriteOfItsLane(_ kind: StorageKind, _ status: Int)
    async throws
  {
    let storage = try kind.make(in: self.folder)
    let change = self.change(.init(scope: .by { $0.id })) { change, _ in
      if change.text == "1", status != 200 { throw HTTPStatusError(statusCode: status) }
    }
    let (client, notes) = try await self.launch(storage, change)
    let store = client.store(for: change)
    let first = try await store.enqueue(with: NoteChange(id: "a", text: "1"))
    let runner = try #require(try client.durableRunner(for: change))
    let claim = try await storage.outbox.claim(ClaimRequest(.mutation(first.id)))
    _ = await runner.run(try #require(claim.leases.first))
    let delivery = try await store.submit(with: NoteChange(id: "a", text: "2"))
    #expect(delivery.value == true)
    #expect(notes.currentValue?.map(\.text) == ["2"])
    #expect(!notes.hasPendingChanges)
    try await storage.close()
  }

  /// Its query is named by its options and by its edit, and is fetched once for both.
  @Test(arguments: StorageKind.allCases, [200, 422])
  func aWriteThatHasEndedLetsItsQueryBeFetchedOnce(_ kind: StorageKind, _ status: Int) async throws
  {
    let storage = try kind.make(in: self.folder)
    let fetches = Counter()
    let list = NotesQuery { [server] _ in
      fetches.increment()
      return server.list
    }.persisted()
    let path = NotesQuery().path
    let change = ChangeNote { _, _ in
      if status != 200 { throw HTTPStatusError(statusCode: status) }
    }
    .persisted(as: "change-note", .init(invalidates: { [path, path.appending($0.id), path] }))
    .optimistic(
      on: { _ in NotesQuery() }, { notes, change, _ in change.apply(to: &notes, default: []) })
    let client = QueryClient(storage: storage)
    try client.register(change)
    let notes = client.store(for: list)
    let subscription = notes.subscribe { _ in }
    try await notes.fetch()
    for round in 1...20 {
      let before = fetches.value
      try await client.store(for: change).enqueue(with: NoteChange(id: "\(round)", text: ""))
      _ = try await MutationReplayer(client: client).replayOnce()
      for await shown in notes.states where !shown.state.isInvalidated && !shown.state.isLoading {
        break
      }
      #expect(fetches.value == before + 1)
    }
    subscription.cancel()
    try await storage.close()
  }

  @Test(arguments: StorageKind.allCases)
  func whatIsDiscardedOrRetriedIsShownWhenTheCallReturns(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let change = self.change(whenDead: .kept) { _, _ in throw HTTPStatusError(statusCode: 400) }
    let (client, notes) = try await self.launch(storage, change)
    let id = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
    _ = try await MutationReplayer(client: client).replayOnce()
    #expect(notes.pendingChanges.map(\.standing) == [.dead(.rejected)])
    try await storage.outbox.retry(id)
    #expect(notes.pendingChanges.map(\.standing) == [.waiting(nil)])
    _ = try await MutationReplayer(client: client).replayOnce()
    #expect(notes.currentValue?.map(\.id) == ["a"])
    try await client.store(for: change).retry(id, with: NoteChange(id: "a", text: "2"))
    #expect(notes.pendingChanges.map(\.standing) == [.waiting(nil)])
    #expect(notes.currentValue?.map(\.text) == ["2"])
    _ = try await MutationReplayer(client: client).replayOnce()
    let other = try JSONEncoder().encode(NoteChange(id: "a", text: "3"))
    try await storage.outbox.retry(id, withArguments: other)
    #expect(notes.pendingChanges.map(\.standing) == [.waiting(nil)])
    #expect(notes.currentValue?.map(\.text) == ["3"])
    _ = try await MutationReplayer(client: client).replayOnce()
    try await storage.outbox.discard(id)
    #expect(notes.currentValue == [])
    #expect(!notes.hasPendingChanges)
  }

  @Test(arguments: StorageKind.allCases)
  func whatAReplayHasSentIsAcknowledgedWhenItReturns(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let server = self.server
    let change = self.change { change, attempt in
      server.apply(change, key: attempt.idempotencyKey)
    }
    let (client, notes) = try await self.launch(storage, change)
    try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.pendingChanges.count == 1)
    _ = try await MutationReplayer(client: client).replayOnce()
    #expect(notes.pendingChanges.isEmpty)
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }

  @Test(arguments: StorageKind.allCases, [400, 404, 409])
  func whatIsRefusedIsGoneAndFetchedAgain(_ kind: StorageKind, _ code: Int) async throws {
    let storage = try kind.make(in: self.folder)
    let change = self.change { _, _ in throw HTTPStatusError(statusCode: code) }
    let (client, notes) = try await self.launch(storage, change)
    try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    _ = try await MutationReplayer(client: client).replayOnce()
    #expect(notes.currentValue == [])
    #expect(notes.isInvalidated)
    try await notes.fetch()
    #expect(!notes.isInvalidated)
    // An attempt of the caller's own.
    await #expect(throws: HTTPStatusError.self) {
      try await client.store(for: change).mutate(with: NoteChange(id: "b", text: "1"))
    }
    #expect(notes.currentValue == [])
    #expect(notes.isInvalidated)
    try await storage.flush()
    #expect(QueryClient.toldByHand(storage).store(for: self.list).isInvalidated)
  }

  @Test(arguments: StorageKind.allCases)
  func whatIsCancelledAndMayHaveBeenDoneIsFetchedAgain(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let server = self.server
    let change = self.change { change, attempt in
      // The answer is lost.
      server.apply(change, key: attempt.idempotencyKey)
      throw HTTPStatusError(statusCode: 503)
    }
    let (client, notes) = try await self.launch(storage, change)
    let id = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
    _ = try await MutationReplayer(client: client).replayOnce()
    #expect(try storage.outbox.entry(id)?.maybeApplied == true)
    #expect(!notes.isInvalidated)
    #expect(try await storage.outbox.cancel(id))
    #expect(notes.currentValue == [])
    #expect(notes.isInvalidated)
    try await storage.flush()
    #expect(QueryClient.toldByHand(storage).store(for: self.list).isInvalidated)
    try await notes.fetch()
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }
}
