import Foundation
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// An edit is shown wherever its mutation stands, and goes with it.
@Suite(.warningsAreIssues) struct OptimisticStandingTests {
  private let folder: ScratchFolder
  private let server = NotesServer()
  private let standings = Recorder<OptimisticContext.Standing>()

  init() throws { self.folder = try ScratchFolder() }

  private func change(
    _ options: MutationPersistenceOptions<NoteChange> = .init(scope: .by { $0.id }),
    whenDead: DeadEdit = .dropped,
    send: @escaping @Sendable (NoteChange, MutationAttempt) async throws -> Void = { _, _ in
      throw TestError()
    }
  ) -> some MutationRequest<NoteChange, Bool> {
    ChangeNote(send: send).persisted(as: "change-note", options)
      .optimistic(
        on: { _ in NotesQuery() }, whenDead: whenDead,
        {
          [standings] notes, change, edit in
          if standings.elements.last != edit.standing { standings.append(edit.standing) }
          change.apply(to: &notes, default: [])
        })
  }

  private var list: some QueryRequest<[Note], QueryState<[Note]?, [Note]>> {
    NotesQuery { [server] _ in server.list }.persisted()
  }

  private func failed(_ next: FailedAttempt.Next) -> AttemptOutcome {
    .failed(
      FailedAttempt(
        error: RestoredError(typeName: "E", text: "-"), outcome: "x", isCharged: false,
        maybeApplied: false, next: next))
  }

  @Test(arguments: StorageKind.allCases)
  func anEditIsShownUntilItsMutationHasEnded(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    try await notes.fetch()
    let id = try await client.store(for: self.change()).enqueue(
      with: NoteChange(id: "a", text: "1")
    )
    .id
    let nexts: [(FailedAttempt.Next, MutationWaitReason)] = [
      (.wait(.backoff, .seconds(3_600)), .backoff), (.waitForCredentials, .authentication),
      (.waitForHandler, .handler),
    ]
    for (next, reason) in nexts {
      let lease = try #require(
        try await storage.outbox.claim(ClaimRequest(.mutation(id))).leases.first)
      client.optimistic.read()
      #expect(notes.pendingChanges.map(\.standing) == [.running])
      #expect(notes.currentValue?.map(\.id) == ["a"])
      _ = try await storage.outbox.settle(lease, self.failed(next))
      client.optimistic.read()
      #expect(notes.pendingChanges.map(\.standing) == [.waiting(reason)])
      #expect(notes.pendingChanges.first?.lastError?.text == "-")
      #expect(notes.currentValue?.map(\.id) == ["a"])
      try await storage.outbox.retry(id)
    }
    try await storage.outbox.deliver(id, to: self.server)
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.id) == ["a"])
    #expect(self.standings.elements.last == .acknowledged)
    #expect(self.standings.elements.first == .waiting(nil))
  }

  @Test(arguments: StorageKind.allCases)
  func anEnqueueingThatFailsHasShownNothing(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    let states = Recorder<[Note]?>()
    let subscription = notes.subscribe { states.append($0.currentValue) }
    defer { subscription.cancel() }
    let text = String(repeating: "x", count: 33 << 20)
    await #expect(throws: StorageError.self) {
      try await client.store(for: self.change()).enqueue(with: NoteChange(id: "a", text: text))
    }
    #expect(states.elements == [nil])
    #expect(!notes.hasPendingChanges)
  }

  @Test(arguments: StorageKind.allCases)
  func whatIsAcknowledgedBeforeTheFirstFetchStays(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    do {
      let client = QueryClient.toldByHand(storage)
      try client.register(self.change())
      let notes = client.store(for: self.list)
      let id = try await client.store(for: self.change())
        .enqueue(with: NoteChange(id: "a", text: "1")).id
      #expect(notes.currentValue?.map(\.id) == ["a"])
      try await storage.flush()
      try await storage.outbox.deliver(id, to: self.server)
    }
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    #expect(notes.storedValue == nil)
    #expect(notes.valueUpdateCount == 0)
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }

  @Test(arguments: StorageKind.allCases)
  func theLastAnswerToArriveCountsWithTheMarkOfItsBeginning(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    let gates = (0..<2).map { _ in Gate() }
    let begun = Locked(0)
    let notes = client.store(
      for: NotesQuery { [server] _ in
        let number = begun.withLock { count in
          defer { count += 1 }
          return count
        }
        let answer = server.list
        try await gates[number].pass()
        return answer
      }.persisted())
    let first = Task { try await notes.fetch() }
    await gates[0].arrival()
    let id = try await client.store(for: self.change()).enqueue(
      with: NoteChange(id: "a", text: "1")
    )
    .id
    try await storage.outbox.deliver(id, to: self.server)
    client.optimistic.read()
    let second = Task { try await notes.fetch() }
    await gates[1].arrival()
    gates[1].open()
    #expect(try await second.value.map(\.id) == ["a"])
    #expect(notes.optimisticMark?.sequence == 1)
    gates[0].open()
    #expect(try await first.value == [])
    #expect(notes.storedValue == [])
    #expect(notes.optimisticMark?.sequence == 0)
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }

  @Test(arguments: StorageKind.allCases)
  func anAnswerThatConfirmsTheValueRaisesItsMark(_ kind: StorageKind) async throws {
    struct Confirmed: QueryRequest {
      typealias State = QueryState<[Note]?, [Note]>

      let server: NotesServer

      var path: QueryPath { ["notes"] }

      func fetch(
        in context: QueryContext, with continuation: QueryContinuation<[Note]>
      ) async throws -> [Note] {
        if context.storedValue?.metadata != nil { return try continuation.unchanged() }
        return continuation.returning(self.server.list, metadata: Data("tag".utf8))
      }
    }
    let storage = try kind.make(in: self.folder)
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    let notes = client.store(for: Confirmed(server: self.server).persisted())
    try await notes.fetch()
    #expect(notes.optimisticMark?.sequence == 0)
    let id = try await client.store(for: self.change()).enqueue(
      with: NoteChange(id: "a", text: "1")
    )
    .id
    try await storage.outbox.deliver(id, to: self.server)
    client.optimistic.read()
    #expect(notes.currentValue?.map(\.id) == ["a"])
    try await notes.fetch()
    #expect(notes.optimisticMark?.sequence == 1)
    #expect(notes.currentValue == [])
  }

  @Test(arguments: StorageKind.allCases)
  func aDroppedMutationLetsItsQueriesBeFetchedAgain(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient.toldByHand(storage)
    let change = self.change(.init(scope: .by { $0.id }, onConflict: { _, _, _ in .drop })) {
      _, _ in
      throw HTTPStatusError(statusCode: 409)
    }
    try client.register(change)
    let notes = client.store(for: self.list)
    try await notes.fetch()
    try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(!notes.isInvalidated)
    _ = try await MutationReplayer(client: client).replayOnce()
    client.optimistic.read()
    #expect(notes.currentValue == [])
    #expect(notes.isInvalidated)
    try await storage.flush()
    #expect(QueryClient.toldByHand(storage).store(for: self.list).isInvalidated)
  }

  @Test(arguments: StorageKind.allCases)
  func aRetriedEditIsMadeAtItsOldPlace(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient.toldByHand(storage)
    let change = self.change(.init())
    try client.register(change)
    let notes = client.store(for: self.list)
    let changes = client.store(for: change)
    let first = try await changes.enqueue(with: NoteChange(id: "a", text: "1")).id
    try await changes.enqueue(with: NoteChange(id: "a", text: "2"))
    try await storage.outbox.sendWithoutCode(first) { _ in self.failed(.dead(.rejected)) }
    client.optimistic.read()
    #expect(notes.pendingChanges.count == 1)
    try await storage.outbox.retry(first)
    client.optimistic.read()
    #expect(notes.pendingChanges.map(\.id).first == first)
    #expect(notes.currentValue == [Note(id: "a", text: "2")])
  }

  @Test(arguments: StorageKind.allCases)
  func anEditFindsWhatTheServerCallsARecord(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient.toldByHand(storage)
    let change = ChangeNote().persisted(as: "change-note")
      .optimistic(
        on: { _ in NotesQuery() },
        { notes, change, edit in
          let id = edit.alias(change.id) ?? change.id
          NoteChange(id: id, text: change.text).apply(to: &notes, default: [])
        })
    try client.register(change)
    let notes = client.store(for: self.list)
    let changes = client.store(for: change)
    let create = try await changes.enqueue(with: NoteChange(id: "local", text: "1")).id
    let rename = try await changes.enqueue(
      with: NoteChange(id: "local", text: "2"), dependsOn: [create])
    #expect(notes.currentValue == [Note(id: "local", text: "2")])
    try await storage.outbox.sendWithoutCode(create) { _ in
      .succeeded(SuccessfulAttempt(result: nil, aliases: ["local": "7"]))
    }
    client.optimistic.read()
    #expect(notes.currentValue == [Note(id: "7", text: "2")])
    #expect(notes.pendingChanges.map(\.id) == [rename.id])
  }

  @Test(arguments: StorageKind.allCases)
  func whatIsErasedIsNotShown(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    let notes = client.store(for: self.list)
    self.server.write(Note(id: "s", text: ""))
    try await notes.fetch()
    try await client.store(for: self.change()).enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.currentValue?.map(\.id) == ["a", "s"])
    try await storage.erase()
    client.optimistic.read()
    #expect(notes.currentValue == nil)
    #expect(!notes.hasPendingChanges)
    let next = QueryClient.toldByHand(storage)
    try next.register(self.change())
    #expect(next.store(for: self.list).currentValue == nil)
  }

  @Test func theResultsOfRequestsHaveNoEdits() async throws {
    let storage = MemoryQueryStorage()
    let client = QueryClient.toldByHand(storage)
    try client.register(self.change())
    try await client.store(for: self.change()).enqueue(with: NoteChange(id: "a", text: "1"))
    self.server.write(Note(id: "s", text: ""))
    let notes = client.store(for: self.list)
    #expect(notes.currentValue?.map(\.id) == ["a"])
    // It has no value yet, though something is shown.
    #expect(try await client.ensureValue(for: self.list).map(\.id) == ["s"])
    #expect(try await client.ensureValue(for: self.list).map(\.id) == ["s"])
    #expect(try await notes.fetch().map(\.id) == ["s"])
    notes.setResult(to: .success([]))
    #expect(notes.storedValue == [])
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }
}
