import Foundation
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// Mutations that are sent with other arguments than they were enqueued with.
@Suite(.warningsAreIssues) struct RetriedArgumentsTests {
  private let folder: ScratchFolder
  private let sent = Recorder<(text: String, key: String)>()

  init() throws { self.folder = try ScratchFolder() }

  /// A mutation whose text "x" conflicts, and is sent as "y" then.
  private var save: some MutationRequest<String, String> {
    BlockMutation(["save"]) { [sent] (text: String, context: QueryContext) -> String in
      sent.append((text, context.mutationAttempt?.idempotencyKey ?? ""))
      if text == "x" { throw HTTPStatusError(statusCode: 409) }
      if text == "refused" { throw HTTPStatusError(statusCode: 400) }
      return text
    }
    .persisted(as: "save", .init(onConflict: { _, _, _ in .retry(with: "y") }))
  }

  @Test(arguments: StorageKind.allCases)
  func theHistoryShowsWhatIsSentNow(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient(storage: storage)
    let store = client.store(for: self.save)
    try client.register(self.save)
    let id = try await store.enqueue(with: "first").id
    let old = try #require(store.history.last?.idempotencyKey)
    try await store.retry(id, with: "refused")
    try await self.wait(for: store) { $0.arguments == "refused" }
    #expect(store.history.last?.isQueued == true)
    #expect(store.history.last?.idempotencyKey == (try storage.outbox.entry(id)?.idempotencyKey))
    #expect(store.history.last?.idempotencyKey != old)
    // A dead one, too, and a new key alone.
    _ = try await MutationReplayer(client: client).replayOnce()
    #expect(store.history.last?.isQueued == false)
    try await store.retry(id, with: "third")
    try await self.wait(for: store) { $0.arguments == "third" }
    #expect(store.history.last?.isQueued == true)
    let third = try storage.outbox.entry(id)?.idempotencyKey
    #expect(store.history.last?.idempotencyKey == third)
    try await storage.outbox.retry(id, newKey: true)
    try await self.wait(for: store) { $0.idempotencyKey != third }
    #expect(store.history.last?.arguments == "third")
    #expect(store.history.count == 1)
    try await storage.close()
  }

  @Test(arguments: StorageKind.allCases)
  func theHistoryShowsWhatAConflictHasChanged(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let store = QueryClient(storage: storage).store(for: self.save)
    #expect(try await store.mutate(with: "x") == "y")
    #expect(self.sent.elements.map(\.text) == ["x", "y"])
    let shown = try #require(store.history.last)
    #expect(shown.arguments == "y")
    #expect(shown.idempotencyKey == self.sent.elements.last?.key)
    #expect(shown.idempotencyKey != self.sent.elements.first?.key)
    #expect(!shown.isQueued)
    #expect(store.history.count == 1)
    try await storage.close()
  }

  /// Waits until the only entry of a history shows something.
  private func wait(
    for store: QueryStore<MutationState<String, String>>,
    until isShown: (MutationState<String, String>.HistoryEntry) -> Bool
  ) async throws {
    for await shown in store.states where isShown(try #require(shown.state.history.last)) { return }
  }

  // MARK: - Edits

  /// A mutation that adds a text to the list of a folder.
  private func addition(
    name: String = "add", _ send: @escaping @Sendable (Addition) async throws -> Void
  ) -> some MutationRequest<Addition, Bool> {
    BlockMutation([name]) { (addition: Addition, _: QueryContext) -> Bool in
      try await send(addition)
      return true
    }
    .persisted(as: name)
    .optimistic(
      on: { self.list($0.folder) },
      { texts, addition, _ in texts = (texts ?? []) + [addition.text] })
  }

  private struct Addition: Codable, Sendable {
    var folder: Int
    var text = "new"
  }

  private func list(_ folder: Int) -> some QueryRequest<[String], QueryState<[String]?, [String]>> {
    BlockQuery<[String]>(["folder", folder]) { _ in [] }.persisted()
  }

  @Test(arguments: StorageKind.allCases)
  func theRowNamesTheQueriesOfItsNewArguments(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient(storage: storage)
    let add = self.addition { _ in throw HTTPStatusError(statusCode: 500) }
    let store = client.store(for: add)
    let moved = try await store.enqueue(with: Addition(folder: 0)).id
    let other = try await store.enqueue(with: Addition(folder: 1)).id
    #expect(try await store.retry(moved, with: Addition(folder: 1)) == false)
    let paths = try #require(try storage.outbox.entry(other)?.editedPaths)
    #expect(try storage.outbox.entry(moved)?.editedPaths == paths)
    // A program that knows this mutation by its row alone.
    let reader = QueryClient(storage: storage)
    try reader.register(self.addition(name: "other") { _ in })
    _ = try await storage.outbox.cancel(other)
    let lists = (0...1).map { reader.store(for: self.list($0)) }
    while !lists[1].hasPendingChanges { await Task.yield() }
    #expect(!lists[0].hasPendingChanges)
    try await storage.close()
  }

  /// Its server may have what was sent under the old key.
  @Test(arguments: StorageKind.allCases)
  func theQueriesOfWhatMayHaveBeenAppliedAreStale(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient(storage: storage)
    let add = self.addition { _ in throw HTTPStatusError(statusCode: 500) }
    try client.register(add)
    let list = client.store(for: self.list(0))
    try await list.fetch()
    let store = client.store(for: add)
    let id = try await store.enqueue(with: Addition(folder: 0)).id
    try await store.retry(id, with: Addition(folder: 0, text: "other"))
    #expect(!list.isInvalidated, "it was never sent")
    _ = try await MutationReplayer(client: client).replayOnce()
    try #require(try storage.outbox.entry(id)?.maybeApplied == true)
    #expect(!list.isInvalidated)
    try await store.retry(id, with: Addition(folder: 1))
    #expect(list.isInvalidated)
    try await storage.close()
  }
}
