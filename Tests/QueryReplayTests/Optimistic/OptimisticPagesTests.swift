import Foundation
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// Edits over the pages of an infinite query.
@Suite(.warningsAreIssues) struct OptimisticPagesTests {
  private let folder: ScratchFolder
  private let server = NotesServer()
  private let cursors = Recorder<String>()

  init() throws { self.folder = try ScratchFolder() }

  /// Two notes a page; the next begins after the last one.
  private struct NotePages: InfiniteQueryRequest {
    let server: NotesServer
    let cursors: Recorder<String>

    /// Called before each page is read; then the answers name what they include.
    var willRead: (@Sendable (String) async throws -> Void)?

    let path: QueryPath = ["note-pages"]
    let initialPageId = ""

    func pageId(
      after page: InfiniteQueryPage<String, [Note]>,
      using paging: InfiniteQueryPaging<String, [Note]>, in context: QueryContext
    ) -> String? { page.value.last?.id }

    func fetchPage(
      using paging: InfiniteQueryPaging<String, [Note]>, in context: QueryContext,
      with continuation: QueryContinuation<[Note]>
    ) async throws -> [Note] {
      self.cursors.append(paging.pageId)
      if let willRead {
        try await willRead(paging.pageId)
        context.fetchReceipt?.includes(keys: Array(self.server.keys))
      }
      return Array(self.server.list.filter { $0.id > paging.pageId }.prefix(2))
    }
  }

  private var pages: NotePages { NotePages(server: self.server, cursors: self.cursors) }

  private var change: some MutationRequest<NoteChange, Bool> {
    ChangeNote().persisted(as: "change-note", .init(scope: .by { $0.id }))
      .optimistic(
        on: { [pages] _ in pages.persisted() },
        { pages, change, _ in
          let note = Note(id: change.id, text: change.text ?? "")
          pages.upsert(note) { $0.id == change.id }
        })
  }

  private func client(_ storage: any QueryStorage) throws -> QueryClient {
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change)
    return client
  }

  @Test(arguments: StorageKind.allCases)
  func theNextPageIsAskedForByWhatTheServerKnows(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = try self.client(storage)
    for id in ["b", "d", "f", "h"] { self.server.write(Note(id: id, text: "")) }
    let notes = client.store(for: self.pages.persisted())
    try await notes.fetchNextPage()
    let id = try await client.store(for: self.change).enqueue(with: NoteChange(id: "e", text: "1"))
      .id
    func shown(_ id: String) -> Int {
      notes.currentValue.flatMap(\.value).count { $0.id == id }
    }
    #expect(shown("e") == 1)
    #expect(notes.storedValue.flatMap(\.value).map(\.id) == ["b", "d"])
    try await notes.fetchNextPage()
    #expect(self.cursors.elements == ["", "d"])
    #expect(shown("e") == 1)
    // The server has it on the second page.
    try await storage.outbox.deliver(id, to: self.server)
    client.optimistic.read()
    #expect(shown("e") == 1)
    #expect(notes.storedValue.flatMap(\.value).map(\.id) == ["b", "d", "f", "h"])
    try await notes.fetch()
    #expect(notes.currentValue.map { $0.value.map(\.id) } == [["b", "d"], ["e", "f"]])
    try await storage.flush()
    let next = try self.client(storage).store(for: self.pages.persisted())
    await next.hydrated()
    #expect(next.currentValue.map { $0.value.map(\.id) } == [["b", "d"], ["e", "f"]])
  }

  /// A later page was read after a write that an earlier one, which it changes, was read before.
  @Test(arguments: StorageKind.allCases)
  func whatOnlyOnePageIncludesIsShownInTheOthers(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = try self.client(storage)
    for id in ["b", "d", "f", "h"] { self.server.write(Note(id: id, text: "")) }
    let gate = Gate()
    let isHeld = Locked(false)
    let pages = NotePages(server: self.server, cursors: self.cursors) { cursor in
      if cursor == "d", isHeld.withLock({ $0 }) { try await gate.pass() }
    }
    let notes = client.store(for: pages.persisted())
    try await notes.fetchNextPage()
    try await notes.fetchNextPage()
    let id = try await client.store(for: self.change).enqueue(with: NoteChange(id: "b", text: "1"))
      .id
    isHeld.withLock { $0 = true }
    let held = Task { try await notes.fetch() }
    await gate.arrival()
    try await storage.outbox.deliver(id, to: self.server)
    client.optimistic.read()
    gate.open()
    _ = try await held.value
    #expect(notes.storedValue.first?.value.first?.text == "")
    #expect(notes.currentValue.first?.value.first?.text == "1")
    isHeld.withLock { $0 = false }
    try await notes.fetch()
    #expect(notes.storedValue.first?.value.first?.text == "1")
  }
}
