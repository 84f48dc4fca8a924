import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

/// A list that edits are laid over is removed as any other query is.
@Suite(.warningsAreIssues) struct ResetTargetTests {
  private let folder: ScratchFolder
  private static let text = BlockQuery<Int>(["text"]) { _ in 1 }.persisted()

  init() throws { self.folder = try ScratchFolder() }

  private static func list(_ name: String) -> some QueryRequest<[Int], QueryState<[Int]?, [Int]>> {
    BlockQuery<[Int]>(["list", name]) { _ in [1, 2] }.persisted()
  }

  private static func send(_ name: String, _ client: QueryClient) async throws {
    let edit = BlockMutation(["edit"]) { (_: String, _) in }
      .persisted(as: "edit", .init(invalidates: { [["list", $0]] }))
      .optimistic(
        on: { Self.list($0) },
        { value, _, _ in value?.sort() })
    try client.register(edit)
    if !name.isEmpty { _ = try await client.store(for: edit).submit(with: name) }
  }

  private func launch(
    sending name: String = "", _ body: (QueryClient) async throws -> Void = { _ in }
  ) async throws -> Int {
    let storage = try SQLiteQueryStorage(directory: self.folder.url)
    let client = QueryClient(storage: storage, storeCreator: .default(retryLimit: 0))
    try await Self.send(name, client)
    try await body(client)
    try await storage.flush()
    let count = storage.statistics.entries
    try await storage.close()
    return count
  }

  /// The other one was stored before the writes: what has ended since is looked for.
  @Test(arguments: [true, false])
  func aListThatIsResetBesideAnOlderValueHasNoEntry(_ isListFirst: Bool) async throws {
    #expect(
      try await self.launch { client in
        try await client.store(for: Self.text).fetch()
        try await client.store(for: Self.list("a")).fetch()
      } == 2)
    #expect(try await self.launch(sending: "a") == 2)
    #expect(
      try await self.launch { try await $0.store(for: Self.list("a")).fetch() } == 2)
    #expect(try await self.launch(sending: "b") == 2)
    #expect(
      try await self.launch { client in
        if isListFirst { client.store(for: Self.list("a")).reset() }
        client.store(for: Self.text).reset()
        if !isListFirst { client.store(for: Self.list("a")).reset() }
      } == 0)
  }
}
