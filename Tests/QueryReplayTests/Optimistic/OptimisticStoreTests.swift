import Foundation
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// What was entered is what is shown, with the storages that ship.
@Suite(.warningsAreIssues) struct OptimisticStoreTests {
  private let folder: ScratchFolder
  private let server = NotesServer()

  init() throws { self.folder = try ScratchFolder() }

  private typealias Change = ModifiedQuery<
    ModifiedQuery<ChangeNote, _PersistedMutationModifier<ChangeNote>>,
    _OptimisticModifier<
      ModifiedQuery<ChangeNote, _PersistedMutationModifier<ChangeNote>>, NotesQuery
    >
  >

  private func change(
    whenDead: DeadEdit = .dropped,
    _ options: MutationPersistenceOptions<NoteChange> = .init(scope: .by { $0.id }),
    send: @escaping @Sendable (NoteChange, MutationAttempt) async throws -> Void = { _, _ in
      throw HTTPStatusError(statusCode: 503)
    }
  ) -> Change {
    ChangeNote(send: send).persisted(as: "change-note", options)
      .optimistic(
        on: { _ in NotesQuery() }, whenDead: whenDead,
        { notes, change, _ in change.apply(to: &notes, default: []) })
  }

  private var list: some QueryRequest<[Note], QueryState<[Note]?, [Note]>> {
    NotesQuery { [server] _ in server.list }.persisted()
  }

  private func client(_ storage: any QueryStorage) throws -> QueryClient {
    let client = QueryClient(storage: storage, storeCreator: BareStores())
    client.defaultContext.outboxRereadPause = { _ in }
    return client
  }

  @Test(arguments: StorageKind.allCases)
  func anEditIsSeenWhenEnqueueReturnsAndAfterARestart(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = try self.client(storage)
    let change = self.change()
    try client.register(change)
    let notes = client.store(for: self.list)
    #expect(notes.currentValue == nil)
    #expect(!notes.hasPendingChanges)
    let states = Recorder<[Note]?>()
    let reasons = Recorder<QueryResultUpdateReason?>()
    let subscription = notes.subscribe(
      with: QueryEventHandler(onStateChanged: { state, context in
        states.append(state.currentValue)
        reasons.append(context.queryResultUpdateReason)
      }))
    defer { subscription.cancel() }
    let changes = client.store(for: change)
    let ticket = try await changes.enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.currentValue == [Note(id: "a", text: "1")])
    #expect(notes.state.currentValue == [Note(id: "a", text: "1")])
    #expect(notes.hasPendingChanges)
    #expect(notes.pendingChanges.map(\.id) == [ticket.id])
    #expect(notes.pendingChanges.map(\.name) == ["change-note"])
    #expect(notes.storedValue == nil)
    #expect(notes.valueUpdateCount == 0)
    #expect(states.elements == [nil, [Note(id: "a", text: "1")]])
    #expect(reasons.elements == [nil, .optimistic])
    // A fetch that has it not leaves it in view.
    self.server.write(Note(id: "b", text: "somebody's"))
    #expect(try await notes.fetch() == [Note(id: "b", text: "somebody's")])
    #expect(notes.storedValue == [Note(id: "b", text: "somebody's")])
    #expect(notes.currentValue?.map(\.id) == ["a", "b"])
    try await storage.flush()
    // The next launch.
    let next = try self.client(storage)
    try next.register(change)
    let shown = next.store(for: self.list)
    #expect(shown.currentValue?.map(\.id) == ["a", "b"])
    #expect(shown.storedValue?.map(\.id) == ["b"])
  }

  @Test(arguments: StorageKind.allCases)
  func anAcknowledgedEditStaysUntilAValueHasIt(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = try self.client(storage)
    let change = self.change()
    try client.register(change)
    let (reading, landing) = (Gate(), Gate())
    let server = self.server
    let list = NotesQuery { _ in
      try await reading.pass()
      let answer = server.list
      try await landing.pass()
      return answer
    }.persisted()
    let notes = client.store(for: list)
    // A fetch that the server reads before the write lands after it.
    let held = Task { try await notes.fetch() }
    await reading.arrival()
    let ticket = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    reading.open()
    await landing.arrival()
    try await storage.outbox.deliver(ticket.id, to: self.server)
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.id) == ["a"])
    #expect(notes.pendingChanges.isEmpty)
    landing.open()
    #expect(try await held.value == [])
    #expect(notes.storedValue == [])
    #expect(notes.currentValue?.map(\.id) == ["a"])
    try await storage.flush()
    // The next launch, offline.
    let next = try self.client(storage)
    try next.register(change)
    let shown = next.store(for: self.list)
    #expect(shown.currentValue?.map(\.id) == ["a"])
    #expect(!shown.hasPendingChanges)
    // And a value that has it takes its place.
    try await shown.fetch()
    #expect(shown.storedValue?.map(\.id) == ["a"])
    self.server.write(Note(id: "a", text: "somebody's"))
    try await shown.fetch()
    #expect(shown.currentValue == [Note(id: "a", text: "somebody's")])
  }

  /// Lets one thread read what another client has entered, and stop in the middle of the edit; meanwhile
  /// another one looks.
  ///
  /// - Parameter look: Is given the client, the store, and how many edits were begun.
  private func whileAnEditIsMade(
    _ look:
      @escaping @Sendable (
        QueryClient, QueryStore<QueryState<[Note]?, [Note]>>, Counter
      ) -> Void
  ) async throws {
    let storage = MemoryQueryStorage()
    let (isEditing, mayEdit) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let edits = Counter()
    let change = ChangeNote().persisted(as: "change-note").optimistic(
      on: { _ in NotesQuery() },
      { notes, change, _ in
        if edits.increment() == 1 {
          isEditing.signal()
          mayEdit.wait()
        }
        change.apply(to: &notes, default: [])
      })
    let client = QueryClient.toldByHand(storage)
    try client.register(change)
    let notes = client.store(for: self.list)
    try await notes.fetch()
    await client.useUpItsReading()
    let other = QueryClient.toldByHand(storage)
    try other.register(change)
    try await other.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    await runOnThreads(2) { thread in
      if thread == 0 {
        client.optimistic.read()
      } else {
        isEditing.wait()
        look(client, notes, edits)
        mayEdit.signal()
      }
    }
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }

  /// A thread that only reads takes no part in making the edits, however long they run.
  @Test func whoReadsWhileAnEditIsMadeIsShownWhatWasShownBefore() async throws {
    try await self.whileAnEditIsMade { _, notes, edits in
      #expect(notes.currentValue == [])
      #expect(edits.value == 1)
    }
  }

  /// A reading that finds nothing new does not return before what an earlier one has found is shown.
  @Test func aReadingShowsWhatAnotherHasTakenAndNotShownYet() async throws {
    try await self.whileAnEditIsMade { client, notes, _ in
      client.optimistic.read()
      #expect(notes.currentValue?.map(\.id) == ["a"])
    }
  }

  @Test(arguments: StorageKind.allCases)
  func manySuccessesOfAToolAreAllShownOffline(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let change = self.change()
    do {
      let client = try self.client(storage)
      try client.register(change)
      let notes = client.store(for: self.list)
      try await notes.fetch()
      for number in 0..<250 {
        try await client.store(for: change)
          .enqueue(with: NoteChange(id: "n\(1_000 + number)", text: "\(number)"))
      }
      #expect(notes.currentValue?.count == 250)
      try await storage.flush()
    }
    for entry in try storage.outbox.entries() {
      try await storage.outbox.deliver(entry.id, to: self.server)
    }
    let next = try self.client(storage)
    try next.register(change)
    #expect(next.store(for: self.list).currentValue == self.server.list)
  }

  @Test(arguments: StorageKind.allCases)
  func aDeadEditGoesUnlessItIsKept(_ kind: StorageKind) async throws {
    for whenDead in [DeadEdit.dropped, .kept] {
      let folder = try ScratchFolder()
      let storage = try kind.make(in: folder)
      let client = try self.client(storage)
      let change = self.change(whenDead: whenDead)
      try client.register(change)
      let notes = client.store(for: self.list)
      let id = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
      let refusal = FailedAttempt(
        error: RestoredError(typeName: "E", text: "no"), outcome: "permanent", isCharged: true,
        maybeApplied: false, next: .dead(.rejected))
      try await storage.outbox.sendWithoutCode(id) { _ in .failed(refusal) }
      client.optimistic.read()
      #expect(notes.currentValue?.map(\.id) == (whenDead == .kept ? ["a"] : nil))
      #expect(notes.hasPendingChanges == (whenDead == .kept))
      #expect(notes.pendingChanges.first?.standing == (whenDead == .kept ? .dead(.rejected) : nil))
      try await storage.outbox.retry(id)
      client.optimistic.read()
      #expect(notes.currentValue?.map(\.id) == ["a"])
      try await storage.outbox.sendWithoutCode(id) { _ in .failed(refusal) }
      try await storage.outbox.discard(id)
      client.optimistic.read()
      #expect(notes.currentValue == nil)
      #expect(!notes.hasPendingChanges)
    }
  }

  /// What was entered later and has arrived is shown over it: before it is folded, after, once it was
  /// fetched, and after a restart. What others write of something else is shown, too.
  @Test(arguments: StorageKind.allCases, [true, false])
  func aKeptEditDoesNotCoverWhatWasEnteredLater(
    _ kind: StorageKind, _ isFetched: Bool
  ) async throws {
    let storage = try kind.make(in: self.folder)
    let client = try self.client(storage)
    let change = self.change(whenDead: .kept)
    try client.register(change)
    let notes = client.store(for: self.list)
    self.server.write(Note(id: "a", text: "0"))
    self.server.write(Note(id: "b", text: "0"))
    if isFetched { try await notes.fetch() }
    let changes = client.store(for: change)
    try await storage.outbox.deliver(
      changes.enqueue(with: NoteChange(id: "b", text: "early")).id, to: self.server)
    let refused = try await changes.enqueue(with: NoteChange(id: "a", text: "1")).id
    let refusal = FailedAttempt(
      error: RestoredError(typeName: "E", text: "no"), outcome: "permanent", isCharged: true,
      maybeApplied: false, next: .dead(.rejected))
    try await storage.outbox.sendWithoutCode(refused) { _ in .failed(refusal) }
    client.optimistic.read()
    #expect(notes.currentValue?.first?.text == "1")
    let ids = [
      try await changes.enqueue(with: NoteChange(id: "a", text: "2")).id,
      try await changes.enqueue(with: NoteChange(id: "b", text: "2")).id,
    ]
    #expect(notes.currentValue?.map(\.text) == ["2", "2"])
    let shown = Recorder<String?>()
    let subscription = notes.subscribe { shown.append($0.currentValue?.first?.text) }
    defer { subscription.cancel() }
    for id in ids { try await storage.outbox.deliver(id, to: self.server) }
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.text) == ["2", "2"])
    self.server.write(Note(id: "b", text: "somebody's"))
    try await notes.fetch()
    #expect(notes.currentValue?.map(\.text) == ["2", "somebody's"])
    #expect(notes.pendingChanges.map(\.id) == [refused])
    #expect(Set(shown.elements) == ["2"])
    try await storage.flush()
    let next = try self.client(storage)
    try next.register(change)
    let restarted = next.store(for: self.list)
    #expect(restarted.currentValue?.map(\.text) == ["2", "somebody's"])
    // What is entered still later is over both.
    try await next.store(for: change).enqueue(with: NoteChange(id: "a", text: "3"))
    #expect(restarted.currentValue?.map(\.text) == ["3", "somebody's"])
    try await storage.outbox.discard(refused)
    client.optimistic.read()
    self.server.write(Note(id: "a", text: "somebody's"))
    try await notes.fetch()
    #expect(notes.storedValue?.map(\.text) == ["somebody's", "somebody's"])
  }

  @Test(arguments: StorageKind.allCases)
  func coalescedEditsAreOneChange(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = try self.client(storage)
    let change = self.change(.init(scope: .by { $0.id }, coalesce: .latest))
    try client.register(change)
    let notes = client.store(for: self.list)
    let changes = client.store(for: change)
    try await changes.enqueue(with: NoteChange(id: "a", text: "1"))
    let states = Recorder<[Note]?>()
    let subscription = notes.subscribe { states.append($0.currentValue) }
    defer { subscription.cancel() }
    try await changes.enqueue(with: NoteChange(id: "a", text: "2"))
    client.optimistic.read()
    #expect(states.elements == [[Note(id: "a", text: "1")], [Note(id: "a", text: "2")]])
    #expect(notes.pendingChanges.count == 1)
  }

  @Test(arguments: StorageKind.allCases)
  func newArgumentsOfAConflictAreShown(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = try self.client(storage)
    let change = self.change()
    try client.register(change)
    let notes = client.store(for: self.list)
    let id = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
    let other = try JSONEncoder().encode(NoteChange(id: "a", text: "other"))
    try await storage.outbox.sendWithoutCode(id) { _ in
      .failed(
        FailedAttempt(
          error: RestoredError(typeName: "E", text: "409"), outcome: "conflict", isCharged: true,
          maybeApplied: false,
          next: .retry(arguments: other, key: UUID().uuidString, after: .zero)))
    }
    client.optimistic.read()
    #expect(notes.currentValue == [Note(id: "a", text: "other")])
  }

  /// Its readings come later than its end.
  @Test(arguments: StorageKind.allCases)
  func whatIsAcknowledgedIsShownAsItWasSentLast(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient.toldByHand(storage)
    let change = self.change()
    try client.register(change)
    let notes = client.store(for: self.list)
    let ticket = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    await client.useUpItsReading()
    let other = try JSONEncoder().encode(NoteChange(id: "a", text: "other"))
    try await storage.outbox.sendWithoutCode(ticket.id) { _ in
      .failed(
        FailedAttempt(
          error: RestoredError(typeName: "E", text: "409"), outcome: "conflict", isCharged: true,
          maybeApplied: false,
          next: .retry(arguments: other, key: UUID().uuidString, after: .zero)))
    }
    try await storage.outbox.sendWithoutCode(ticket.id) { _ in
      .succeeded(SuccessfulAttempt(result: try JSONEncoder().encode(true)))
    }
    #expect(try await ticket.outcome())
    #expect(notes.currentValue == [Note(id: "a", text: "other")])
    client.optimistic.read()
    #expect(notes.currentValue == [Note(id: "a", text: "other")])
  }

  @Test(arguments: StorageKind.allCases)
  func aReceiptKeepsACountFromGrowingTwice(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = try self.client(storage)
    let server = self.server
    let list = NotesQuery { context in
      let answer = server.list
      context.fetchReceipt?.includes(keys: Array(server.keys))
      return answer
    }.persisted()
    let count = ChangeNote(send: { change, attempt in
      // The answer is lost.
      server.apply(NoteChange(id: change.id, text: "1"), key: attempt.idempotencyKey)
      throw HTTPStatusError(statusCode: 503)
    }).persisted(as: "count")
      .optimistic(
        on: { _ in NotesQuery() },
        { notes, change, _ in
          let old = notes?.first { $0.id == change.id }.flatMap { Int($0.text) } ?? 0
          NoteChange(id: change.id, text: "\(old + 1)").apply(to: &notes, default: [])
        })
    try client.register(count)
    let notes = client.store(for: list)
    let id = try await client.store(for: count).enqueue(with: NoteChange(id: "n", text: nil)).id
    #expect(notes.currentValue?.first?.text == "1")
    _ = try await MutationReplayer(client: client).replayOnce()
    // On a slow machine its pause may be over in the same call.
    #expect(try storage.outbox.entry(id)?.attempts ?? 0 > 0)
    try await notes.fetch()
    client.optimistic.read()
    #expect(notes.currentValue?.first?.text == "1")
    try await storage.flush()
    let next = try self.client(storage)
    try next.register(count)
    #expect(next.store(for: list).currentValue?.first?.text == "1")
  }

  @Test func anEditThatReachesForItsStoreIsNoDeadlock() async throws {
    let storage = MemoryQueryStorage()
    let client = try self.client(storage)
    let found = Locked<QueryStore<QueryState<[Note]?, [Note]>>?>(nil)
    let change = ChangeNote().persisted(as: "change-note")
      .optimistic(
        on: { _ in NotesQuery() },
        { notes, change, _ in
          change.apply(to: &notes, default: [])
          guard let store = found.withLock({ $0 }) else { return }
          store.subscribe { _ in }.cancel()
          _ = store.currentValue
          _ = store.fetchTask()
          store.withExclusiveAccess { _ = $0.currentValue }
        })
    try client.register(change)
    let notes = client.store(for: self.list)
    found.withLock { $0 = notes }
    try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.currentValue?.map(\.id) == ["a"])
    try await notes.fetch()
    #expect(notes.currentValue?.map(\.id) == ["a"])
    found.withLock { $0 = nil }
  }

  @Test func aValueThatIsSetIsBeneathTheEdits() async throws {
    let client = try self.client(MemoryQueryStorage())
    let change = self.change()
    try client.register(change)
    let notes = client.store(for: self.list)
    try await client.store(for: change).enqueue(with: NoteChange(id: "b", text: "1"))
    notes.currentValue = [Note(id: "a", text: "set")]
    #expect(notes.currentValue?.map(\.id) == ["a", "b"])
    notes.currentValue?.append(Note(id: "c", text: "appended"))
    #expect(notes.storedValue?.map(\.id) == ["a", "c"])
    #expect(notes.currentValue?.map(\.id) == ["a", "b", "c"])
    notes.withExclusiveAccess { store in
      store.currentValue = []
      #expect(store.currentValue?.map(\.id) == ["b"])
    }
    notes.reset()
    #expect(notes.storedValue == nil)
    #expect(notes.currentValue?.map(\.id) == ["b"])
  }

  @Test(arguments: StorageKind.allCases)
  func whatIsRegisteredLateIsShownInStoresThatLive(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let change = self.change()
    do {
      let first = try self.client(storage)
      try first.register(change)
      try await first.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    }
    let client = try self.client(storage)
    let notes = client.store(for: self.list)
    #expect(notes.currentValue == nil)
    try client.register(change)
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }

  @Test func mutateShowsItsEditBeforeTheAttemptBegins() async throws {
    let client = try self.client(MemoryQueryStorage())
    let seen = Recorder<[Note]?>()
    let found = Locked<QueryStore<QueryState<[Note]?, [Note]>>?>(nil)
    let change = self.change { _, _ in seen.append(found.withLock { $0 }?.currentValue) }
    try client.register(change)
    let notes = client.store(for: self.list)
    found.withLock { $0 = notes }
    _ = try await client.store(for: change).mutate(with: NoteChange(id: "a", text: "1"))
    #expect(seen.elements == [[Note(id: "a", text: "1")]])
    #expect(notes.currentValue?.map(\.id) == ["a"])
    found.withLock { $0 = nil }
  }
}

extension NoteChange {
  /// Changes a list that may not be there yet.
  func apply(to notes: inout [Note]?, default start: [Note]) {
    var list = notes ?? start
    self.apply(to: &list)
    notes = list
  }
}
