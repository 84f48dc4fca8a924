import QueryReplay
import TestSupport
import Testing

@testable import Query

/// What was entered after a write that was refused, and is shown all the same.
@Suite(.warningsAreIssues) struct OptimisticOverKeptTests {
  private let folder: ScratchFolder
  private let server = NotesServer()

  init() throws { self.folder = try ScratchFolder() }

  private var change: some MutationRequest<NoteChange, Bool> {
    ChangeNote { [server] change, attempt in
      if change.text == "bad" { throw HTTPStatusError(statusCode: 422) }
      server.apply(change, key: attempt.idempotencyKey)
    }
    .persisted(as: "change-note", .init(scope: .by { $0.id }))
    .optimistic(
      on: { _ in NotesQuery() }, whenDead: .kept,
      { notes, change, _ in change.apply(to: &notes, default: []) })
  }

  private func launch(
    _ storage: any QueryStorage
  ) throws -> (QueryClient, QueryStore<QueryState<[Note]?, [Note]>>) {
    let client = QueryClient(storage: storage, storeCreator: BareStores())
    client.defaultContext.outboxRereadPause = { _ in }
    try client.register(self.change)
    return (client, client.store(for: NotesQuery { [server] _ in server.list }.persisted()))
  }

  /// However much of others is entered since.
  @Test(arguments: StorageKind.allCases)
  func whatWasDeletedDoesNotComeBack(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (client, notes) = try self.launch(storage)
    let changes = client.store(for: self.change)
    let replayer = MutationReplayer(client: client)
    try replayer.register(self.change)
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
}
