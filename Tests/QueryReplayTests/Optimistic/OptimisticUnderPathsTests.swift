import QueryReplay
import TestSupport
import Testing

@testable import Query

/// Edits of all queries under a path.
@Suite(.warningsAreIssues) struct OptimisticUnderPathsTests {
  private typealias ListState = QueryState<[Note]?, [Note]>

  private let folder: ScratchFolder
  private let server = NotesServer()

  init() throws { self.folder = try ScratchFolder() }

  /// Changes each list under `["notes"]`.
  private func everywhere(
    whenDead: DeadEdit = .dropped
  ) -> some MutationRequest<NoteChange, Bool> {
    self.sending("change-all").persisted(as: "change-all")
      .optimistic(
        under: { _ in ["notes"] }, of: ListState.self, whenDead: whenDead,
        { notes, change, _ in change.apply(to: &notes, default: []) })
  }

  /// Changes the list at `["notes"]` alone.
  private var one: some MutationRequest<NoteChange, Bool> {
    self.sending("change-note").persisted(as: "change-note")
      .optimistic(
        on: { _ in NotesQuery() }, { notes, change, _ in change.apply(to: &notes, default: []) })
  }

  private func sending(_ name: String) -> ChangeNote {
    ChangeNote(
      send: { [server] change, attempt in
        if change.text == "bad" { throw HTTPStatusError(statusCode: 422) }
        server.apply(change, key: attempt.idempotencyKey)
      }, name: name)
  }

  private func client(_ storage: any QueryStorage = MemoryQueryStorage()) -> QueryClient {
    let client = QueryClient(storage: storage, storeCreator: BareStores())
    client.defaultContext.outboxRereadPause = { _ in }
    return client
  }

  private func list(_ client: QueryClient, at path: QueryPath) -> QueryStore<ListState> {
    client.store(for: BlockQuery(path) { [server] _ in server.list }.persisted())
  }

  @Test func theListsUnderThePathShowItAndNothingElseDoes() async throws {
    let client = self.client()
    try client.register(self.everywhere())
    let lists = [["notes"], ["notes", "archive"], ["notes", "archive", 1]].map {
      self.list(client, at: $0)
    }
    let others = [["note"], ["notebook"], ["archive", "notes"]].map { self.list(client, at: $0) }
    let count = client.store(for: BlockQuery(["notes", "count"]) { _ in 7 })
    try await client.store(for: self.everywhere()).enqueue(with: NoteChange(id: "a", text: "1"))
    let entered = [Note(id: "a", text: "1")]
    for list in lists { #expect(list.currentValue == entered && list.hasPendingChanges) }
    for list in others { #expect(list.currentValue == nil && !list.hasPendingChanges) }
    #expect(count.currentValue == nil && !count.hasPendingChanges, "its value is no list")
    #expect(self.list(client, at: ["notes", "later"]).currentValue == entered)
  }

  /// Both kinds may change one list.
  @Test(arguments: [true, false])
  func theyAreMadeInTheOrderInWhichTheyWereEntered(_ isUnderFirst: Bool) async throws {
    let client = self.client()
    let (everywhere, one) = (self.everywhere(), self.one)
    try client.register(everywhere)
    try client.register(one)
    let notes = self.list(client, at: ["notes"])
    let archive = self.list(client, at: ["notes", "archive"])
    for number in 0..<4 {
      let change = NoteChange(id: "a", text: "\(number)")
      if number.isMultiple(of: 2) == isUnderFirst {
        try await client.store(for: everywhere).enqueue(with: change)
        #expect(archive.currentValue == [Note(id: "a", text: "\(number)")])
      } else {
        try await client.store(for: one).enqueue(with: change)
      }
      #expect(notes.currentValue == [Note(id: "a", text: "\(number)")])
      #expect(notes.pendingChanges.count == number + 1)
    }
    #expect(archive.pendingChanges.count == 2)
  }

  @Test(arguments: StorageKind.allCases)
  func whatTheServerHasIsShownUntilEachListIncludesIt(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = self.client(storage)
    let everywhere = self.everywhere()
    try client.register(everywhere)
    let paths: [QueryPath] = [["notes"], ["notes", "archive"]]
    let lists = paths.map { self.list(client, at: $0) }
    for list in lists { try await list.fetch() }
    try await client.store(for: everywhere).enqueue(with: NoteChange(id: "a", text: "1"))
    let replayer = MutationReplayer(client: client)
    try replayer.register(everywhere)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    for list in lists { #expect(list.currentValue == self.server.list && !list.hasPendingChanges) }
    try await storage.flush()
    // At the next launch, too, before anything is fetched.
    let next = self.client(storage)
    try next.register(everywhere)
    let shown = paths.map { self.list(next, at: $0) }
    for list in shown { #expect(list.currentValue == self.server.list && !list.hasPendingChanges) }
    self.server.write(Note(id: "a", text: "somebody's"))
    for list in shown {
      try await list.fetch()
      #expect(list.currentValue == [Note(id: "a", text: "somebody's")])
    }
    try await storage.close()
  }

  @Test(arguments: [DeadEdit.dropped, .kept])
  func whatIsRefusedGoesFromEachListUnlessItIsKept(_ whenDead: DeadEdit) async throws {
    let storage = MemoryQueryStorage()
    let client = self.client(storage)
    let everywhere = self.everywhere(whenDead: whenDead)
    try client.register(everywhere)
    let lists = [["notes"], ["notes", "archive"]].map { self.list(client, at: $0) }
    let refused = NoteChange(id: "a", text: "bad")
    let id = try await client.store(for: everywhere).enqueue(with: refused).id
    for list in lists { #expect(list.hasPendingChanges) }
    let replayer = MutationReplayer(client: client)
    try replayer.register(everywhere)
    #expect(try await replayer.replayOnce() == ReplaySummary(dead: 1))
    for list in lists {
      #expect(list.currentValue == (whenDead == .kept ? [Note(id: "a", text: "bad")] : nil))
      #expect(list.hasPendingChanges == (whenDead == .kept))
    }
    try await storage.outbox.discard(id)
    client.optimistic.read()
    for list in lists { #expect(list.currentValue == nil && !list.hasPendingChanges) }
  }

  @Test(arguments: StorageKind.allCases)
  func whatIsNotRegisteredIsPendingInTheListsUnderThePath(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (client, other) = (self.client(storage), self.client(storage))
    try other.register(self.everywhere())
    try client.register(self.one)
    let lists = [["notes"], ["notes", "archive"]].map { self.list(client, at: $0) }
    let others = [["notebook"], ["archive", "notes"]].map { self.list(client, at: $0) }
    let change = NoteChange(id: "a", text: "1")
    try await other.store(for: self.everywhere()).enqueue(with: change)
    client.optimistic.read()
    for list in lists { #expect(list.hasPendingChanges && list.pendingChanges.isEmpty) }
    for list in others { #expect(!list.hasPendingChanges) }
    try client.register(self.everywhere())
    for list in lists { #expect(list.currentValue == [Note(id: "a", text: "1")]) }
    for list in others { #expect(list.currentValue == nil && !list.hasPendingChanges) }
    try await storage.close()
  }
}
