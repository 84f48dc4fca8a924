import Foundation
import Observation
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// Edits that misbehave, declarations that change, and files that go.
@Suite(.warningsAreIssues) struct OptimisticHardshipTests {
  private let folder: ScratchFolder
  private let server = NotesServer()

  init() throws { self.folder = try ScratchFolder() }

  private func change(
    _ mark: String = "", lane: String? = nil
  ) -> some MutationRequest<NoteChange, Bool> {
    ChangeNote().persisted(as: "change-note", .init(scope: .by { lane ?? $0.id }))
      .optimistic(
        on: { _ in NotesQuery() },
        { notes, change, _ in
          NoteChange(id: change.id, text: change.text.map { $0 + mark })
            .apply(to: &notes, default: [])
        })
  }

  private var list: some QueryRequest<[Note], QueryState<[Note]?, [Note]>> {
    NotesQuery { [server] _ in server.list }.persisted()
  }

  private func client(_ storage: any QueryStorage) -> QueryClient {
    let client = QueryClient(storage: storage, storeCreator: BareStores())
    client.defaultContext.outboxRereadPause = { _ in }
    return client
  }

  @Test func aLaterDeclarationTakesThePlaceOfAnEarlierOne() async throws {
    let client = self.client(MemoryQueryStorage())
    try client.register(self.change("!"))
    let notes = client.store(for: self.list)
    let changes = client.store(for: self.change("!"))
    try await changes.enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.currentValue?.map(\.text) == ["1!"])
    try client.register(self.change("?"))
    #expect(notes.currentValue?.map(\.text) == ["1?"])
    try await changes.enqueue(with: NoteChange(id: "b", text: "2"))
    #expect(notes.currentValue?.map(\.text) == ["1?", "2?"])
  }

  @Test(arguments: StorageKind.allCases)
  func editsOfTwoLanesOnOneValueAreMadeInTheOrderOfTheirNumbers(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = self.client(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    try await notes.fetch()
    let changes = client.store(for: self.change())
    let first = try await changes.enqueue(with: NoteChange(id: "a", text: "1")).id
    let second = try await changes.enqueue(with: NoteChange(id: "b", text: "2")).id
    #expect(notes.currentValue?.map(\.id) == ["a", "b"])
    // They are acknowledged in another order.
    for id in [second, first] { try await storage.outbox.deliver(id, to: self.server) }
    client.optimistic.read()
    #expect(notes.currentValue == self.server.list)
    #expect(!notes.hasPendingChanges)
  }

  @Test func whatIsLiveOutlivesTheCache() async throws {
    do {
      let storage = try SQLiteQueryStorage(directory: self.folder.url)
      let client = self.client(storage)
      try client.register(self.change())
      let notes = client.store(for: self.list)
      self.server.write(Note(id: "s", text: "server's"))
      try await notes.fetch()
      try await client.store(for: self.change()).enqueue(with: NoteChange(id: "a", text: "1"))
      #expect(notes.currentValue?.map(\.id) == ["a", "s"])
      try await storage.close()
    }
    for name in ["cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm"] {
      try? FileManager.default.removeItem(at: self.folder.url.appending(path: name))
    }
    let storage = try SQLiteQueryStorage(directory: self.folder.url)
    let client = self.client(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    #expect(notes.storedValue == nil)
    #expect(notes.currentValue?.map(\.id) == ["a"])
    try await notes.fetch()
    #expect(notes.currentValue?.map(\.id) == ["a", "s"])
    try await storage.close()
  }

  @Test func aCacheMayGoUnderARunningProgram() async throws {
    let storage = try SQLiteQueryStorage(directory: self.folder.url)
    let client = self.client(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    self.server.write(Note(id: "s", text: "server's"))
    try await notes.fetch()
    let changes = client.store(for: self.change())
    let first = try await changes.enqueue(with: NoteChange(id: "a", text: "1")).id
    try await storage.flush()
    for name in ["cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm"] {
      try? FileManager.default.removeItem(at: self.folder.url.appending(path: name))
    }
    #expect(notes.currentValue?.map(\.id) == ["a", "s"])
    try await changes.enqueue(with: NoteChange(id: "b", text: "2"))
    #expect(notes.currentValue?.map(\.id) == ["a", "b", "s"])
    try await storage.outbox.deliver(first, to: self.server)
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.id) == ["a", "b", "s"])
    try await notes.fetch()
    #expect(notes.currentValue?.map(\.id) == ["a", "b", "s"])
    try await storage.close()
    let next = try SQLiteQueryStorage(directory: self.folder.url)
    let other = self.client(next)
    try other.register(self.change())
    #expect(other.store(for: self.list).currentValue?.contains { $0.id == "b" } == true)
    try await next.close()
  }

  /// A mutation of another release, whose edits are not known here.
  private struct RenameNote: MutationRequest {
    typealias Arguments = NoteChange

    var path: QueryPath { ["rename-note"] }

    func mutate(
      with arguments: NoteChange, in context: QueryContext,
      with continuation: QueryContinuation<Bool>
    ) async throws -> Bool { throw TestError() }
  }

  @Test(arguments: StorageKind.allCases)
  func whatIsNotRegisteredIsPendingAndNotShown(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let rename = RenameNote().persisted(as: "rename-note")
      .optimistic(
        on: { $0.id == "elsewhere" ? nil : NotesQuery() },
        { notes, change, _ in
          change.apply(to: &notes, default: [])
        })
    let other = self.client(storage)
    try other.register(rename)
    let client = self.client(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    try await notes.fetch()
    let renames = other.store(for: rename)
    try await renames.enqueue(with: NoteChange(id: "elsewhere", text: "0"))
    client.optimistic.read()
    #expect(!notes.hasPendingChanges)
    let told = Counter()
    withObservationTracking {
      _ = notes.hasPendingChanges
    } onChange: {
      told.increment()
    }
    let id = try await renames.enqueue(with: NoteChange(id: "a", text: "1")).id
    client.optimistic.read()
    #expect(notes.hasPendingChanges)
    #expect(told.value == 1)
    #expect(notes.pendingChanges.isEmpty)
    #expect(notes.currentValue == [])
    #expect(!client.store(for: OtherList()).hasPendingChanges)
    try await storage.outbox.deliver(id, to: self.server)
    client.optimistic.read()
    #expect(!notes.hasPendingChanges)
    // Once it is registered, what it changes is shown.
    try await renames.enqueue(with: NoteChange(id: "b", text: "2"))
    try client.register(rename)
    #expect(notes.hasPendingChanges)
    #expect(notes.currentValue?.map(\.id) == ["a", "b"])
    #expect(notes.pendingChanges.map(\.name) == ["rename-note"])
  }

  /// A release without an upgrade, and one with a type of its own under the same version.
  @Test(arguments: StorageKind.allCases, [1, 2])
  func whatCannotBeReadIsPendingAndNotShown(_ kind: StorageKind, _ version: Int) async throws {
    let storage = try kind.make(in: self.folder)
    let earlier = self.client(storage)
    try earlier.register(self.change())
    let id = try await earlier.store(for: self.change()).enqueue(
      with: NoteChange(id: "a", text: "1")
    ).id
    let client = self.client(storage)
    let changes = BlockMutation(["change-note"]) { (_: Int, _) in false }
      .persisted(as: "change-note", .init(version: version))
      .optimistic(on: { _ in NotesQuery() }, { notes, _, _ in notes = [] })
    try client.register(changes)
    let notes = client.store(for: self.list)
    try await notes.fetch()
    #expect(notes.hasPendingChanges)
    #expect(notes.pendingChanges.isEmpty)
    try await storage.outbox.cancel(id)
    client.optimistic.read()
    #expect(!notes.hasPendingChanges)
  }

  /// Two releases: the query has a name on disk, and its type has another one in the second.
  @Test(arguments: StorageKind.allCases)
  func whatCannotBeReadIsPendingWhereTheTypeOfAQueryWasRenamed(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let earlier = self.client(storage)
    let change = ChangeNote().persisted(as: "change-note")
      .optimistic(
        on: { _ in NotesOnce().persisted(as: "notes") },
        { notes, change, _ in change.apply(to: &notes, default: []) })
    try earlier.register(change)
    let id = try await earlier.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
    let client = self.client(storage)
    let changes = BlockMutation(["change-note"]) { (_: Int, _) in false }
      .persisted(as: "change-note")
      .optimistic(on: { _ in NotesNow().persisted(as: "notes") }, { notes, _, _ in notes = [] })
    try client.register(changes)
    let notes = client.store(for: NotesNow().persisted(as: "notes"))
    #expect(notes.hasPendingChanges)
    #expect(!client.store(for: OtherList().persisted(as: "notes")).hasPendingChanges)
    try await storage.outbox.cancel(id)
    client.optimistic.read()
    #expect(!notes.hasPendingChanges)
  }

  private struct NotesOnce: QueryRequest, Hashable {
    func fetch(
      in context: QueryContext, with continuation: QueryContinuation<[Note]>
    ) async throws -> [Note] { [] }
  }

  private struct NotesNow: QueryRequest, Hashable {
    func fetch(
      in context: QueryContext, with continuation: QueryContinuation<[Note]>
    ) async throws -> [Note] { [] }
  }

  private struct OtherList: QueryRequest {
    var path: QueryPath { ["other-notes"] }

    func fetch(
      in context: QueryContext, with continuation: QueryContinuation<Int>
    ) async throws -> Int { 1 }
  }

  @Test func anEditThatSetsTheValueOfItsStoreIsIgnoredWithAWarning() async throws {
    let client = self.client(MemoryQueryStorage())
    let found = Locked<QueryStore<QueryState<[Note]?, [Note]>>?>(nil)
    let change = ChangeNote().persisted(as: "change-note")
      .optimistic(
        on: { _ in NotesQuery() },
        { notes, change, _ in
          change.apply(to: &notes, default: [])
          guard let store = found.withLock({ $0 }) else { return }
          store.currentValue = [Note(id: "wrong", text: "")]
          store.setResult(to: .success([]))
        })
    try client.register(change)
    let notes = client.store(for: self.list)
    found.withLock { $0 = notes }
    let recorder = WarningRecorder()
    try await recorder.record(about: "has set the value of") {
      _ = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    }
    found.withLock { $0 = nil }
    #expect(
      recorder.warnings == [.valueSetInsideEdit(path: ["notes"])] + recorder.warnings.dropFirst())
    #expect(!recorder.warnings.isEmpty)
    #expect(notes.currentValue?.map(\.id) == ["a"])
    #expect(notes.storedValue == nil)
  }

  @Test func anEditMayLetItsStoreGo() async throws {
    let client = self.client(MemoryQueryStorage())
    let held = Locked<QueryStore<QueryState<[Note]?, [Note]>>?>(nil)
    let change = ChangeNote().persisted(as: "change-note")
      .optimistic(
        on: { _ in NotesQuery() },
        { notes, change, _ in
          change.apply(to: &notes, default: [])
          let old = held.withLock { $0.take() }
          client.clearStores()
          withExtendedLifetime(old) {}
        })
    try client.register(change)
    held.withLock { $0 = client.store(for: self.list) }
    let changes = client.store(for: change)
    try await changes.enqueue(with: NoteChange(id: "a", text: "1"))
    try await changes.enqueue(with: NoteChange(id: "b", text: "2"))
    #expect(client.store(for: self.list).currentValue?.map(\.id) == ["a", "b"])
  }

  @Test(arguments: StorageKind.allCases)
  func aLargeValueIsShownWithItsEdits(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let text = String(repeating: "x", count: 10 << 20)
    let client = self.client(storage)
    try client.register(self.change())
    self.server.write(Note(id: "s", text: text))
    let notes = client.store(for: self.list)
    try await notes.fetch()
    try await client.store(for: self.change()).enqueue(with: NoteChange(id: "a", text: "1"))
    try await storage.flush()
    let next = self.client(storage)
    try next.register(self.change())
    let shown = next.store(for: self.list)
    await shown.hydrated()
    #expect(shown.currentValue?.map(\.id) == ["a", "s"])
  }
}
