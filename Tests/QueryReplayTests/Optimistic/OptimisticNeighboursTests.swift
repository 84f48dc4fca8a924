import Foundation
import TestSupport
import Testing

@testable import Query

/// Two clients of one storage: each shows at once what it enqueues itself, and reads what the other does.
@Suite(.warningsAreIssues) struct OptimisticNeighboursTests {
  private let folder: ScratchFolder

  init() throws { self.folder = try ScratchFolder() }

  private var change: some MutationRequest<NoteChange, Bool> {
    ChangeNote().persisted(as: "change-note", .init(scope: .by { $0.id }))
      .optimistic(
        on: { _ in NotesQuery() },
        { notes, change, _ in change.apply(to: &notes, default: []) })
  }

  private func client(_ storage: any QueryStorage) throws -> QueryClient {
    let client = QueryClient(storage: storage, storeCreator: BareStores())
    client.defaultContext.outboxRereadPause = { _ in }
    try client.register(self.change)
    return client
  }

  /// What is told during an enqueueing of one's own is not read, since it may be the enqueueing itself. Those
  /// that come after it are.
  @Test(arguments: StorageKind.allCases, [false, true])
  func whatTheOtherEnqueuesIsShownAfterAnEnqueueingOfOnesOwn(
    _ kind: StorageKind, _ fails: Bool
  ) async throws {
    let storage = try kind.make(in: self.folder)
    let (client, other) = (try self.client(storage), try self.client(storage))
    let notes = client.store(for: NotesQuery { _ in [] }.persisted())
    try await notes.fetch()
    let shown = Recorder<[String]>()
    let subscription = notes.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        shown.append(state.currentValue?.map(\.id) ?? [])
      }))
    if fails {
      await #expect(throws: OutboxError.self) {
        try await client.store(for: self.change).enqueue(
          with: NoteChange(id: "lost", text: "1"), dependsOn: [UUID()])
      }
    }
    try await client.store(for: self.change).enqueue(with: NoteChange(id: "own", text: "1"))
    #expect(notes.currentValue?.map(\.id) == ["own"])
    try await other.store(for: self.change).enqueue(with: NoteChange(id: "theirs", text: "1"))
    await shown.wait { $0.last == ["own", "theirs"] }
    subscription.cancel()
  }
}
