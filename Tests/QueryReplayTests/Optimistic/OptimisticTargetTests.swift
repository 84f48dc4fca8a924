import Query
import QueryReplay
import TestSupport
import Testing

/// Where edits are made, and which.
@Suite(.warningsAreIssues) struct OptimisticTargetTests {
  private let client = QueryClient(storage: MemoryQueryStorage(), storeCreator: BareStores())

  private static func change(
    _ edit: @escaping @Sendable (inout [Note]?, NoteChange, OptimisticContext) -> Void = {
      notes, change, _ in change.apply(to: &notes, default: [])
    }
  ) -> some MutationRequest<NoteChange, Bool> {
    ChangeNote { _, _ in }.persisted(as: "change-note").optimistic(on: { _ in NotesQuery() }, edit)
  }

  /// Its edits are made for the row that is stored, and the same are shown.
  @Test func theTargetOfAnEditIsMadeOnce() async throws {
    let targets = Recorder<String>()
    let change = ChangeNote { _, _ in }.persisted(as: "change-note")
      .optimistic(
        on: { (change: NoteChange) in
          targets.append(change.id)
          return NotesQuery()
        }, { notes, change, _ in change.apply(to: &notes, default: []) })
    try self.client.register(change)
    let notes = self.client.store(for: NotesQuery())
    try await self.client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.currentValue == [Note(id: "a", text: "1")])
    #expect(targets.elements == ["a"])
  }

  /// Also by a store that was made with others.
  @Test func theEditsThatWereRegisteredLastAreShown() async throws {
    let first = Self.change()
    try self.client.register(first)
    let changes = self.client.store(for: first)
    try self.client.register(
      Self.change { notes, change, _ in notes = [Note(id: change.id, text: "second")] })
    let notes = self.client.store(for: NotesQuery())
    try await changes.enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.currentValue == [Note(id: "a", text: "second")])
  }

  /// An edit of one path is none of those under it.
  @Test func anEditIsMadeAtItsPathAlone() async throws {
    let change = Self.change()
    try self.client.register(change)
    let notes = self.client.store(for: NotesQuery())
    let below = self.client.store(
      for: BlockQuery(NotesQuery().path.appending("archive")) { _ in [Note]() })
    try await self.client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.hasPendingChanges)
    #expect(!below.hasPendingChanges)
  }
}
