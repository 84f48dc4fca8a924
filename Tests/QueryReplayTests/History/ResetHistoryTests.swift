import Foundation
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// The history of a durable mutation after a reset.
@Suite(.warningsAreIssues) struct ResetHistoryTests {
  private let folder: ScratchFolder

  init() throws { self.folder = try ScratchFolder() }

  private static let list = BlockQuery<[String]>(["list"]) { _ in [] }.persisted()
  private static let add = BlockMutation(["add"]) { (text: String, _) -> String in text }
    .persisted(as: "add")
    .optimistic(on: { _ in Self.list }, { texts, text, _ in texts = (texts ?? []) + [text] })

  /// The newest one stays in the outbox for its edit, which the stored list lacks.
  @Test(arguments: StorageKind.allCases)
  func whatASuccessHasLeftDoesNotComeBack(_ kind: StorageKind) async throws {
    var storage = try kind.make(in: self.folder)
    var client = QueryClient(storage: storage)
    try await client.store(for: Self.list).fetch()
    // A program that does not show the list.
    client = QueryClient(storage: storage)
    let store = client.store(for: Self.add)
    try await store.mutate(with: "a")
    try await store.mutate(with: "b")
    #expect(store.history.map(\.arguments) == ["a", "b"])
    store.reset()
    #expect(store.history.isEmpty)
    // What the reset does of itself, at the latest now.
    let instance = try QueryIdentity(instancePath: store.path).text
    try await storage.outbox.clearHistory(of: "add", instance: instance)
    try await storage.flush()
    if kind == .sqlite {
      try await storage.close()
      storage = try kind.make(in: self.folder)
    }
    client = QueryClient(storage: storage)
    #expect(client.store(for: Self.add).history.isEmpty)
    // It may tell the values a moment after another call finds the rows gone.
    while !QueryClient(storage: storage).store(for: Self.list).isInvalidated { await Task.yield() }
    // What comes after it is there.
    try await client.store(for: Self.add).mutate(with: "c")
    #expect(
      QueryClient(storage: storage).store(for: Self.add).history.map(\.arguments) == ["c"])
    try await storage.close()
  }

  /// Nothing of it is saved before it begins, and the reset has taken it by then.
  @Test(arguments: StorageKind.allCases)
  func whatWaitsForAnotherIsNeitherSavedNorSent(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient(storage: storage)
    let (gate, sent) = (Gate(), Recorder<String>())
    let send = BlockMutation(["send"]) { (text: String, _) -> String in
      sent.append(text)
      try await gate.pass()
      return text
    }
    let store = client.store(for: send.persisted(as: "send"))
    let (first, second) = (store.mutateTask(with: "a"), store.mutateTask(with: "b"))
    second.schedule(after: first)
    let waiter = Task { try await second.runIfNeeded() }
    await gate.arrival()
    store.reset()
    await #expect(throws: CancellationError.self) { try await waiter.value }
    #expect(sent.elements == ["a"])
    // What had begun is saved, and is sent again later.
    while try storage.outbox.counts.leased > 0 { await Task.yield() }
    #expect(try storage.outbox.counts.rows == OutboxCounts(pending: 1))
    try await storage.close()
  }
}
