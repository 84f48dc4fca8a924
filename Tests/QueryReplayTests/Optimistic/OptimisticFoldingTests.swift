import Foundation
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// What was acknowledged becomes a part of the value, as far as a program knows the edits.
@Suite(.warningsAreIssues) struct OptimisticFoldingTests {
  private let folder: ScratchFolder
  private let server = NotesServer()

  init() throws { self.folder = try ScratchFolder() }

  /// Another mutation that changes the same list.
  private struct RenameNote: MutationRequest {
    typealias Arguments = NoteChange

    var path: QueryPath { ["rename-note"] }

    func mutate(
      with arguments: NoteChange, in context: QueryContext,
      with continuation: QueryContinuation<Bool>
    ) async throws -> Bool { throw TestError() }
  }

  private static func show(
    _ notes: inout [Note]?, _ change: NoteChange, _ edit: OptimisticContext
  ) { change.apply(to: &notes, default: []) }

  private func change(
    version: Int = 1
  ) -> some MutationRequest<NoteChange, Bool> {
    ChangeNote().persisted(as: "change-note", .init(version: version))
      .optimistic(on: { _ in NotesQuery() }, Self.show)
  }

  private var rename: some MutationRequest<NoteChange, Bool> {
    RenameNote().persisted(as: "rename-note").optimistic(on: { _ in NotesQuery() }, Self.show)
  }

  private var list: some QueryRequest<[Note], QueryState<[Note]?, [Note]>> {
    NotesQuery { [server] _ in server.list }.persisted()
  }

  /// A program that has registered the change and fetched the list.
  private func launch(_ storage: any QueryStorage) async throws -> (
    QueryClient, QueryStore<QueryState<[Note]?, [Note]>>
  ) {
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    try await notes.fetch()
    return (client, notes)
  }

  /// Enters a note, which a tool sends at once.
  private func send(_ id: String, _ client: QueryClient, _ storage: any QueryStorage) async throws {
    let ticket = try await client.store(for: self.change())
      .enqueue(with: NoteChange(id: id, text: "1"))
    try await self.deliver([ticket.id], storage)
  }

  /// What a program shows that knows no edit.
  private func stored(_ storage: any QueryStorage) -> [String]? {
    QueryClient.toldByHand(storage).store(for: self.list).currentValue?.map(\.id)
  }

  private func deliver(_ tickets: [UUID], _ storage: any QueryStorage) async throws {
    for id in tickets { try await storage.outbox.deliver(id, to: self.server) }
  }

  @Test(arguments: StorageKind.allCases)
  func whatIsAcknowledgedIsShownWithoutAnyEditLater(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (client, notes) = try await self.launch(storage)
    let changes = client.store(for: self.change())
    let first = try await changes.enqueue(with: NoteChange(id: "a", text: "1")).id
    let second = try await changes.enqueue(with: NoteChange(id: "b", text: "2")).id
    try await changes.enqueue(with: NoteChange(id: "c", text: "3"))
    try await self.deliver([first, second], storage)
    let date = notes.valueLastUpdatedAt
    client.optimistic.read()
    #expect(notes.storedValue?.map(\.id) == ["a", "b"])
    #expect(notes.currentValue?.map(\.id) == ["a", "b", "c"])
    #expect(notes.optimisticMark?.sequence == storage.outbox.endedSequence)
    #expect(notes.valueUpdateCount == 1)
    #expect(notes.valueLastUpdatedAt == date)
    try await storage.flush()
    // A program that knows no edit.
    let shown = QueryClient.toldByHand(storage).store(for: self.list)
    #expect(shown.currentValue?.map(\.id) == ["a", "b"])
  }

  @Test(arguments: StorageKind.allCases)
  func aValueIsNotFoldedPastWhatThisProgramDoesNotKnow(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let other = QueryClient.toldByHand(storage)
    try other.register(self.rename)
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    try await notes.fetch()
    let changes = client.store(for: self.change())
    let before = try await changes.enqueue(with: NoteChange(id: "b", text: "1")).id
    let unknown = try await other.store(for: self.rename)
      .enqueue(with: NoteChange(id: "a", text: "2")).id
    let after = try await changes.enqueue(with: NoteChange(id: "c", text: "3")).id
    try await self.deliver([before, unknown, after], storage)
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.id) == ["b", "c"])
    #expect(notes.storedValue?.map(\.id) == ["b"])
    try await storage.flush()
    // What is written down is no further.
    #expect(QueryClient.toldByHand(storage).store(for: self.list).currentValue?.map(\.id) == ["b"])
    // A program that knows both.
    let next = QueryClient.toldByHand(storage)
    try next.register(self.change())
    try next.register(self.rename)
    let shown = next.store(for: self.list)
    #expect(shown.currentValue?.map(\.id) == ["a", "b", "c"])
    // Once the first knows it too, nothing holds its value back.
    try client.register(self.rename)
    let last = try await changes.enqueue(with: NoteChange(id: "d", text: "4")).id
    try await self.deliver([last], storage)
    client.optimistic.read()
    #expect(notes.storedValue?.map(\.id) == ["a", "b", "c", "d"])
  }

  @Test(arguments: StorageKind.allCases)
  func aValueIsNotFoldedPastArgumentsOfAnotherVersion(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let old = QueryClient.toldByHand(storage)
    try old.register(self.change())
    let older = try await old.store(for: self.change())
      .enqueue(with: NoteChange(id: "a", text: "1")).id
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change(version: 2))
    let notes = client.store(for: self.list)
    try await notes.fetch()
    let newer = try await client.store(for: self.change(version: 2))
      .enqueue(with: NoteChange(id: "b", text: "2")).id
    try await self.deliver([older, newer], storage)
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.id) == ["b"])
    #expect(notes.storedValue == [])
    try await storage.flush()
    let next = QueryClient.toldByHand(storage)
    try next.register(self.change())
    #expect(next.store(for: self.list).currentValue?.map(\.id) == ["a"])
  }

  /// The value of another program, which knows more, stays.
  @Test(arguments: StorageKind.allCases, [true, false])
  func aFoldReplacesNoOtherValue(_ kind: StorageKind, _ isWritten: Bool) async throws {
    let storage = try kind.make(in: self.folder)
    let (client, notes) = try await self.launch(storage)
    try await storage.flush()
    try await self.send("a", client, storage)
    self.server.write(Note(id: "b", text: "somebody's"))
    try await QueryClient.toldByHand(storage).store(for: self.list).fetch()
    if isWritten { try await storage.flush() }
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.id) == ["a"])
    try await storage.flush()
    #expect(self.stored(storage) == ["a", "b"])
  }

  /// And what another program has removed is not brought back.
  @Test(arguments: StorageKind.allCases)
  func aFoldBringsNothingBack(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (client, notes) = try await self.launch(storage)
    try await storage.flush()
    try await self.send("a", client, storage)
    QueryClient.toldByHand(storage).store(for: self.list).reset()
    try await storage.flush()
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.id) == ["a"])
    try await storage.flush()
    #expect(self.stored(storage) == nil)
  }

  /// A list that was never fetched shows what was sent meanwhile, also to a client that comes before
  /// anything is written.
  @Test(arguments: StorageKind.allCases, [true, false])
  func whatIsSentBeforeTheFirstFetchStaysVisible(_ kind: StorageKind, _ isWritten: Bool)
    async throws
  {
    let storage = try kind.make(in: self.folder)
    do {
      let client = QueryClient.toldByHand(storage)
      try client.register(self.change())
      let notes = client.store(for: self.list)
      try await self.send("a", client, storage)
      #expect(notes.currentValue?.map(\.id) == ["a"])
    }
    if isWritten { try await storage.flush() }
    let next = QueryClient.toldByHand(storage)
    try next.register(self.change())
    #expect(next.store(for: self.list).currentValue?.map(\.id) == ["a"])
  }

  /// One fold after the other, whether what they were made of is written or waits.
  @Test(arguments: StorageKind.allCases, [true, false])
  func foldsFollowOneAnother(_ kind: StorageKind, _ isWritten: Bool) async throws {
    let storage = try kind.make(in: self.folder)
    let (client, notes) = try await self.launch(storage)
    if isWritten { try await storage.flush() }
    for name in ["a", "b", "c"] {
      try await self.send(name, client, storage)
      client.optimistic.read()
      if isWritten { try await storage.flush() }
    }
    #expect(notes.storedValue?.map(\.id) == ["a", "b", "c"])
    try await storage.flush()
    #expect(self.stored(storage) == ["a", "b", "c"])
  }

  /// A server that names what its answer includes has named nothing: an edit may be one that must not be
  /// made twice, so nothing is folded, also after a restart.
  @Test(arguments: StorageKind.allCases, [true, false])
  func anAnswerThatIncludesNothingIsNotFolded(
    _ kind: StorageKind, _ isRestarted: Bool
  ) async throws {
    let storage = try kind.make(in: self.folder)
    let server = self.server
    func launch() throws -> (QueryClient, QueryStore<QueryState<[Note]?, [Note]>>) {
      let client = QueryClient.toldByHand(storage)
      try client.register(self.change())
      let notes = client.store(
        for: NotesQuery { context in
          context.fetchReceipt?.includes(keys: Array(server.keys))
          return server.list
        }.persisted())
      return (client, notes)
    }
    var (client, notes) = try launch()
    try await notes.fetch()
    try await storage.flush()
    if isRestarted { (client, notes) = try launch() }
    try await self.send("a", client, storage)
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.id) == ["a"])
    #expect(notes.storedValue == [])
    // Its answer includes it by name.
    try await notes.fetch()
    #expect(notes.storedValue?.map(\.id) == ["a"])
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }

  @Test func aMutationWithoutEditsHoldsNothingBack() async throws {
    let storage = MemoryQueryStorage()
    let client = QueryClient.toldByHand(storage)
    let plain = RenameNote().persisted(as: "rename-note")
    try client.register(plain)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    try await notes.fetch()
    let first = try await client.store(for: plain).enqueue(with: NoteChange(id: "a", text: "1")).id
    let second = try await client.store(for: self.change())
      .enqueue(with: NoteChange(id: "b", text: "2")).id
    try await self.deliver([first, second], storage)
    client.optimistic.read()
    #expect(notes.storedValue?.map(\.id) == ["b"])
  }

  @Test func aFetchThatIsUnderWayIsNotMadeToWaitForAFold() async throws {
    let storage = MemoryQueryStorage()
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    let (reading, landing) = (Gate(), Gate())
    let server = self.server
    let notes = client.store(
      for: NotesQuery { _ in
        try await reading.pass()
        let answer = server.list
        try await landing.pass()
        return answer
      }.persisted())
    notes.currentValue = []
    let id = try await client.store(for: self.change())
      .enqueue(with: NoteChange(id: "a", text: "1")).id
    let held = Task { try await notes.fetch() }
    await reading.arrival()
    reading.open()
    await landing.arrival()
    try await self.deliver([id], storage)
    client.optimistic.read()
    #expect(notes.storedValue == [])
    landing.open()
    #expect(try await held.value == [])
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }
}
