import Foundation
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// A program takes values over from another one before it has read what became of the mutations in them.
@Suite(.warningsAreIssues) struct OptimisticFollowingTests {
  private typealias Notes = QueryStore<QueryState<[Note]?, [Note]>>

  private let folder: ScratchFolder
  private let server = NotesServer()

  init() throws {
    self.folder = try ScratchFolder()
    self.server.write(Note(id: "a", text: "0"))
  }

  private let change = ChangeNote().persisted(as: "change-note")
    .optimistic(
      on: { _ in NotesQuery() },
      { notes, change, _ in
        change.apply(to: &notes, default: [])
      })

  /// A client that has fetched the list, and whose values another one takes over.
  private func sender(_ storage: any QueryStorage) async throws -> (QueryClient, Notes) {
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change)
    let server = self.server
    let notes = client.store(for: NotesQuery { _ in server.list }.persisted())
    try await notes.fetch()
    try await storage.flush()
    return (client, notes)
  }

  /// A client that knows of no end after the list that is stored, and reads nothing more by itself.
  private func follower(
    _ storage: any QueryStorage, fetch: @escaping @Sendable () async throws -> [Note] = { [] }
  ) async throws -> (QueryClient, Notes) {
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change)
    let notes = client.store(for: NotesQuery { _ in try await fetch() }.persisted())
    await client.useUpItsReading()
    return (client, notes)
  }

  private func enter(_ text: String, in client: QueryClient) async throws -> UUID {
    try await client.store(for: self.change).enqueue(with: NoteChange(id: "a", text: text)).id
  }

  /// Sends mutations, and stores a value that has them.
  private func send(_ ids: [UUID], _ client: QueryClient, _ storage: any QueryStorage) async throws
  {
    for id in ids { try await storage.outbox.deliver(id, to: self.server) }
    client.optimistic.read()
    try await storage.flush()
  }

  private func slot(_ storage: any QueryStorage) throws -> StorageSlot {
    try #require(storage.slots.existingSlot(for: QueryIdentity(path: NotesQuery().path)))
  }

  private func stored(_ storage: any QueryStorage) throws -> StoredEntry {
    guard case .entry(let entry) = storage.read(try self.slot(storage)) else { throw TestError() }
    return entry
  }

  /// Lets the stores take an entry over, as they do with another process's.
  private func takeOver(
    _ entry: StoredEntry, _ text: String, into notes: Notes, _ storage: any QueryStorage
  ) async throws {
    try self.slot(storage).takeOver(entry)
    for await _ in notes.states where notes.storedValue?.map(\.text) == [text] { break }
  }

  private func texts(of notes: Notes) -> (Recorder<String?>, QuerySubscription) {
    let texts = Recorder<String?>()
    return (texts, notes.subscribe { texts.append($0.currentValue?.first?.text) })
  }

  @Test(arguments: StorageKind.allCases)
  func anOlderAnswerHidesNothingThatOnlyATakenValueHas(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (sender, sent) = try await self.sender(storage)
    let (reading, landing) = (Gate(), Gate())
    let (follower, notes) = try await self.follower(storage) { [server] in
      try await reading.pass()
      let answer = server.list
      try await landing.pass()
      return answer
    }
    // A store does not keep its client.
    defer { withExtendedLifetime(follower) {} }
    let held = Task { try await notes.fetch() }
    await reading.arrival()
    reading.open()
    await landing.arrival()
    try await self.send([self.enter("1", in: sender)], sender, storage)
    #expect(sent.storedValue?.map(\.text) == ["1"])
    try await self.takeOver(self.stored(storage), "1", into: notes, storage)
    let (texts, subscription) = self.texts(of: notes)
    defer { subscription.cancel() }
    landing.open()
    #expect(try await held.value.map(\.text) == ["0"])
    #expect(notes.storedValue?.map(\.text) == ["0"])
    #expect(Set(texts.elements) == ["1"])
    #expect(notes.currentValue?.map(\.text) == ["1"])
  }

  @Test(arguments: StorageKind.allCases)
  func anOlderAnswerThatIsYieldedHidesNothingEither(_ kind: StorageKind) async throws {
    struct Yielding: QueryRequest {
      typealias State = QueryState<[Note]?, [Note]>

      let server: NotesServer
      let reading = Gate()
      let landing = Gate()

      var path: QueryPath { NotesQuery().path }

      func fetch(
        in context: QueryContext, with continuation: QueryContinuation<[Note]>
      ) async throws -> [Note] {
        let answer = self.server.list
        try await self.reading.pass()
        continuation.yield(answer)
        try await self.landing.pass()
        return answer
      }
    }
    let storage = try kind.make(in: self.folder)
    let (sender, _) = try await self.sender(storage)
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change)
    let query = Yielding(server: self.server)
    let notes = client.store(for: query.persisted())
    defer { withExtendedLifetime(client) {} }
    await client.useUpItsReading()
    let held = Task { try await notes.fetch() }
    await query.reading.arrival()
    try await self.send([self.enter("1", in: sender)], sender, storage)
    try await self.takeOver(self.stored(storage), "1", into: notes, storage)
    let (texts, subscription) = self.texts(of: notes)
    defer { subscription.cancel() }
    query.reading.open()
    await query.landing.arrival()
    #expect(Set(texts.elements) == ["1"])
    query.landing.open()
    _ = try await held.value
    #expect(Set(texts.elements) == ["1"])
  }

  @Test(arguments: StorageKind.allCases)
  func anOlderValueThatIsTakenOverHidesNothing(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (sender, _) = try await self.sender(storage)
    let older = try self.stored(storage)
    let (follower, notes) = try await self.follower(storage)
    defer { withExtendedLifetime(follower) {} }
    try await self.send([self.enter("1", in: sender)], sender, storage)
    try await self.takeOver(self.stored(storage), "1", into: notes, storage)
    let (texts, subscription) = self.texts(of: notes)
    defer { subscription.cancel() }
    try await self.takeOver(older, "0", into: notes, storage)
    #expect(Set(texts.elements) == ["1"])
    #expect(notes.currentValue?.map(\.text) == ["1"])
  }

  /// What was waiting when the outbox was last read is a part of the value.
  @Test(arguments: StorageKind.allCases)
  func aTakenValueIsNotCoveredByWhatItHas(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (sender, _) = try await self.sender(storage)
    let (follower, notes) = try await self.follower(storage)
    let first = try await self.enter("1", in: sender)
    follower.optimistic.read()
    #expect(notes.currentValue?.map(\.text) == ["1"])
    let (texts, subscription) = self.texts(of: notes)
    defer { subscription.cancel() }
    try await self.send([first, self.enter("2", in: sender)], sender, storage)
    try await self.takeOver(self.stored(storage), "2", into: notes, storage)
    #expect(notes.currentValue?.map(\.text) == ["2"])
    let last = try #require(texts.elements.firstIndex(of: "2"))
    #expect(Set(texts.elements[last...]) == ["2"])
  }

  /// The same of a fetched value.
  @Test(arguments: StorageKind.allCases)
  func aFetchedValueIsNotCoveredByWhatItHas(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let (sender, _) = try await self.sender(storage)
    let (follower, notes) = try await self.follower(storage) { [server] in server.list }
    let first = try await self.enter("1", in: sender)
    follower.optimistic.read()
    #expect(notes.currentValue?.map(\.text) == ["1"])
    try await self.send([first, self.enter("2", in: sender)], sender, storage)
    let (texts, subscription) = self.texts(of: notes)
    defer { subscription.cancel() }
    try await notes.fetch()
    #expect(notes.optimisticMark?.sequence == 2)
    #expect(notes.currentValue?.map(\.text) == ["2"])
    let last = try #require(texts.elements.firstIndex(of: "2"))
    #expect(Set(texts.elements[last...]) == ["2"])
  }

  private struct CountNote: MutationRequest {
    typealias Arguments = NoteChange

    var path: QueryPath { ["count-note"] }

    func mutate(
      with arguments: NoteChange, in context: QueryContext,
      with continuation: QueryContinuation<Bool>
    ) async throws -> Bool { throw TestError() }
  }

  /// Two processes read one file, and one of them has not seen yet what the other has folded.
  @Test(arguments: StorageKind.allCases)
  func whatAValueHasIsNotCountedTwice(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let count = CountNote().persisted(as: "count")
      .optimistic(
        on: { _ in NotesQuery() },
        { notes, change, _ in
          let old = notes?.first { $0.id == change.id }.flatMap { Int($0.text) } ?? 0
          NoteChange(id: change.id, text: "\(old + 1)").apply(to: &notes, default: [])
        })
    let (sender, _) = try await self.sender(storage)
    try sender.register(count)
    let (follower, notes) = try await self.follower(storage)
    try follower.register(count)
    let counts = sender.store(for: count)
    let first = try await counts.enqueue(with: NoteChange(id: "a", text: "1")).id
    try await counts.enqueue(with: NoteChange(id: "a", text: "2"))
    follower.optimistic.read()
    #expect(notes.currentValue?.map(\.text) == ["2"])
    let (texts, subscription) = self.texts(of: notes)
    defer { subscription.cancel() }
    try await self.send([first], sender, storage)
    try await self.takeOver(self.stored(storage), "1", into: notes, storage)
    #expect(Set(texts.elements) == ["2"])
  }
}
