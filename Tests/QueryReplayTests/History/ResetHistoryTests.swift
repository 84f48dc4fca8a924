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
}
