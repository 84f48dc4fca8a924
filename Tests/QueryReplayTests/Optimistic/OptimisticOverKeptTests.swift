import QueryReplay
import TestSupport
import Testing

@testable import Query

/// What was entered after a write that was refused, and is shown all the same.
@Suite(.warningsAreIssues) struct OptimisticOverKeptTests {
  private let folder: ScratchFolder
  private let server = NotesServer()

  init() throws { self.folder = try ScratchFolder() }

  private func change(
    _ scope: MutationScope<NoteChange>
  ) -> some MutationRequest<NoteChange, Bool> {
    ChangeNote { [server] change, attempt in
      if change.text == "bad" { throw HTTPStatusError(statusCode: 422) }
      server.apply(change, key: attempt.idempotencyKey)
    }
    .persisted(as: "change-note", .init(scope: scope))
    .optimistic(
      on: { _ in NotesQuery() }, whenDead: .kept,
      { notes, change, _ in change.apply(to: &notes, default: []) })
  }

  private func launch(
    _ storage: any QueryStorage, _ scope: MutationScope<NoteChange> = .by { $0.id }
  ) throws -> (QueryClient, QueryStore<QueryState<[Note]?, [Note]>>) {
    let client = QueryClient(storage: storage, storeCreator: BareStores())
    client.defaultContext.outboxRereadPause = { _ in }
    try client.register(self.change(scope))
    return (client, client.store(for: NotesQuery { [server] _ in server.list }.persisted()))
  }

  /// However much of others is entered since.
  @Test(arguments: StorageKind.allCases)
  func whatWasDeletedDoesNotComeBack(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (client, notes) = try self.launch(storage)
    let change = self.change(.by { $0.id })
    let changes = client.store(for: change)
    let replayer = MutationReplayer(client: client)
    try replayer.register(change)
    for text in ["bad", nil] { try await changes.enqueue(with: NoteChange(id: "a", text: text)) }
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1, dead: 1))
    for number in 0..<150 {
      try await changes.enqueue(with: NoteChange(id: "b", text: "\(number)"))
      #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
      if number % 10 == 0 { try await notes.fetch() }
      #expect(notes.currentValue?.map(\.id).contains("a") != true, "\(number)")
    }
    try await notes.fetch()
    #expect(notes.currentValue == self.server.list)
    try await storage.flush()
    // At the next launch, too.
    #expect(try self.launch(storage).1.currentValue == self.server.list)
    try await storage.close()
  }

  /// No lane says that both are about one note, but the lists do, because they can be compared.
  @Test(arguments: StorageKind.allCases)
  func whatWasEnteredLaterInALaneOfItsOwnIsShownOverIt(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (client, notes) = try self.launch(storage, .none)
    let change = self.change(.none)
    let changes = client.store(for: change)
    let replayer = MutationReplayer(client: client)
    try replayer.register(change)
    try await changes.enqueue(with: NoteChange(id: "a", text: "bad"))
    #expect(try await replayer.replayOnce() == ReplaySummary(dead: 1))
    #expect(notes.currentValue == [Note(id: "a", text: "bad")])
    try await changes.enqueue(with: NoteChange(id: "a", text: "2"))
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(notes.currentValue == [Note(id: "a", text: "2")])
    self.server.write(Note(id: "b", text: "somebody's"))
    try await notes.fetch()
    #expect(notes.currentValue?.map(\.text) == ["2", "somebody's"])
    try await storage.close()
  }
}
