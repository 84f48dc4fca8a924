import Foundation
import Query
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

/// How an application enqueues, with what is public, and with the storage that ships.
@Suite(.warningsAreIssues) struct EnqueueingTests {
  /// Takes a text, as its server lets it.
  private struct Post: MutationRequest {
    var name = "post"
    var server: @Sendable (String, MutationAttempt) async throws -> Void = { _, _ in }

    var path: QueryPath { [self.name] }

    func mutate(
      with text: String, in context: QueryContext, with continuation: QueryContinuation<String>
    ) async throws -> String {
      try await self.server(text, try #require(context.mutationAttempt))
      return text
    }
  }

  private let folder: ScratchFolder

  init() throws { self.folder = try ScratchFolder() }

  private func storage() throws -> SQLiteQueryStorage {
    try SQLiteQueryStorage(directory: self.folder.url)
  }

  @Test func severalMutationsAreCommittedTogetherOrNotAtAll() async throws {
    let storage = try self.storage()
    let client = QueryClient(storage: storage)
    let sent = Recorder<String>()
    let (create, upload) = (
      Post(name: "create") { text, _ in sent.append(text) }.persisted(as: "create"),
      Post(name: "upload") { text, _ in sent.append(text) }.persisted(as: "upload")
    )
    let (creating, uploading) = (client.store(for: create), client.store(for: upload))
    let tickets = try await client.enqueue { batch in
      let first = try batch.add(creating, with: "inspection")
      return [
        first, try batch.add(upload, with: "photo", dependsOn: [first.id]),
        try batch.add(creating, with: "submit", dependsOn: [first.id]),
      ]
    }
    #expect(try storage.outbox.entries().map(\.id) == tickets.map(\.id))
    #expect(creating.history.map(\.arguments) == ["inspection", "submit"])
    #expect(uploading.history.map(\.isQueued) == [true])
    await #expect(throws: OutboxError.self) {
      try await client.enqueue { batch in
        try batch.add(creating, with: "another")
        try batch.add(uploading, with: "photo", dependsOn: [UUID()])
      }
    }
    await #expect(throws: CancellationError.self) {
      try await client.enqueue { batch in
        try batch.add(creating, with: "another")
        throw CancellationError()
      }
    }
    #expect(try storage.outbox.counts.rows == OutboxCounts(pending: 3))
    #expect(creating.history.count == 2)
    let replayer = MutationReplayer(client: client)
    try replayer.register(create)
    try replayer.register(upload)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 3))
    #expect(sent.elements.first == "inspection")
    #expect(try await tickets[1].outcome() == "photo")
    try await storage.close()
  }

  @Test func storesOfAnotherStorageAreRefused() async throws {
    let client = QueryClient(storage: MemoryQueryStorage())
    let other = QueryClient(storage: MemoryQueryStorage())
    let store = other.store(for: Post().persisted(as: "post"))
    await #expect(throws: MutationDeclarationError.otherStorage(name: "post")) {
      try await client.enqueue { try $0.add(store, with: "a") }
    }
    let volatile = client.store(for: Post(name: "volatile"))
    await #expect(throws: MutationDeclarationError.self) {
      try await client.enqueue { try $0.add(volatile, with: "a") }
    }
  }

  @Test func aFormIsEnqueuedOnceOverLaunches() async throws {
    let id = UUID()
    let post = Post().persisted(as: "post")
    for text in ["first", "second"] {
      let storage = try self.storage()
      let store = QueryClient(storage: storage).store(for: post)
      let ticket = try await store.enqueue(with: text, id: id)
      #expect(ticket.id == id)
      #expect(ticket.idempotencyKey == id.uuidString)
      #expect(store.history.map(\.arguments) == ["first"])
      try await storage.close()
    }
    let storage = try self.storage()
    let client = QueryClient(storage: storage)
    let replayer = MutationReplayer(client: client)
    try replayer.register(post)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    let late = try await client.store(for: post).enqueue(with: "third", id: id)
    #expect(try await late.outcome() == "first")
    #expect(try storage.outbox.counts.rows == OutboxCounts())
    try await storage.close()
  }

  @Test func theServersAnswerIsKeptWithADeadLetterThatIsMendedAfterARestart() async throws {
    let first = try self.storage()
    let long = Data("title too long".utf8) + Data(count: 10_000)
    let refusing = Post { _, _ in throw HTTPStatusError(statusCode: 422, body: long) }
      .persisted(as: "post")
    let replayer = MutationReplayer(client: QueryClient(storage: first))
    try replayer.register(refusing)
    let ticket = try await QueryClient(storage: first).store(for: refusing).enqueue(with: "long")
    #expect(try await replayer.replayOnce() == ReplaySummary(dead: 1))
    try await first.close()

    let storage = try self.storage()
    let client = QueryClient(storage: storage)
    let sent = Recorder<String>()
    let post = Post { text, _ in sent.append(text) }.persisted(as: "post")
    let store = client.store(for: post)
    let dead = try #require(try store.dead.first)
    #expect(try store.dead.count == 1)
    #expect(dead.id == ticket.id)
    #expect(dead.arguments == "long")
    #expect(dead.reason == .rejected)
    #expect(dead.attempts == 1)
    #expect(dead.response == long.prefix(4 << 10))
    #expect(dead.lastError?.text.contains("422") == true)
    #expect(try storage.outbox.attempts(of: dead.id).map(\.response) == [long.prefix(4 << 10)])
    #expect(try client.store(for: Post(name: "other").persisted(as: "other")).dead.isEmpty)
    try await store.retry(dead.id, with: "short")
    #expect(try store.dead.isEmpty)
    let next = MutationReplayer(client: client)
    try next.register(post)
    #expect(try await next.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(sent.elements == ["short"])
    await #expect(throws: OutboxError.unknown(dead.id)) {
      try await store.retry(dead.id, with: "again")
    }
    try await storage.close()
  }

  /// A mutation may be made at several paths, and several may be made at one.
  @Test func aStoreHasTheDeadOfItsMutationAtItsPathAndNoOthers() async throws {
    let storage = try self.storage()
    let ways = [("post", "a"), ("post", "b"), ("edit", "a")]
    // A client has one store of a path.
    let stores = ways.map { name, path in
      let post = Post(name: path) { _, _ in throw HTTPStatusError(statusCode: 422) }
      return QueryClient(storage: storage).store(for: post.persisted(as: name))
    }
    for (store, (name, path)) in zip(stores, ways) {
      await #expect(throws: HTTPStatusError.self) {
        try await store.mutate(with: "\(name) \(path)")
      }
    }
    let dead = try stores.map { try $0.dead }
    #expect(dead.map { $0.map(\.arguments) } == [["post a"], ["post b"], ["edit a"]])
    for other in dead[1...].joined() {
      await #expect(throws: OutboxError.unknown(other.id)) {
        try await stores[0].retry(other.id, with: "post a")
      }
    }
    try await storage.close()
  }

  /// What a conflict or a person puts in the place of the arguments is of this release's version.
  @Test(arguments: [409, 422])
  func newArgumentsOfAnOldRowAreNotUpgraded(_ status: Int) async throws {
    let storage = try self.storage()
    let ticket = try await QueryClient(storage: storage).store(for: Post().persisted(as: "post"))
      .enqueue(with: "old")
    let sent = Recorder<String>()
    let post = Post { text, _ in
      sent.append(text)
      if sent.count == 1 { throw HTTPStatusError(statusCode: status) }
    }
    .persisted(
      as: "post",
      .init(
        version: 2,
        upgrade: { data, _ in
          let text = try JSONDecoder().decode(String.self, from: data)
          return try JSONEncoder().encode("upgraded \(text)")
        },
        onConflict: { _, _, _ in .retry(with: "merged") }))
    let client = QueryClient(storage: storage)
    let store = client.store(for: post)
    let replayer = MutationReplayer(client: client)
    try replayer.register(post)
    var summary = try await replayer.replayOnce()
    if status == 422 {
      #expect(summary == ReplaySummary(dead: 1))
      #expect(try store.dead.map(\.arguments) == ["upgraded old"])
      try await store.retry(ticket.id, with: "merged")
      summary = try await replayer.replayOnce()
    }
    while try storage.outbox.counts.pending > 0 { _ = try await replayer.replayOnce() }
    #expect(sent.elements == ["upgraded old", "merged"])
    #expect(try await MutationTicket(id: ticket.id, in: store).outcome() == "merged")
    try await storage.close()
  }

  /// A write whose answer was lost is sent again by the next release as this one sent it, since its key is the
  /// same.
  @Test func anAttemptKnowsOfWhichVersionItsArgumentsAre() async throws {
    let storage = try self.storage()
    let versions = Recorder<[Int]>()
    let post = BlockMutation(["post"]) { (_: String, context: QueryContext) in
      let attempt = try #require(context.mutationAttempt)
      versions.append([attempt.storedVersion, attempt.maybeApplied ? 1 : 0])
      if versions.count == 1 { throw URLError(.networkConnectionLost) }
    }
    let old = post.persisted(as: "post")
    let new = post.persisted(as: "post", .init(version: 2, upgrade: { data, _ in data }))
    _ = try? await QueryClient(storage: storage).store(for: old).mutate(with: "old")
    let client = QueryClient(storage: storage)
    try await client.store(for: new).enqueue(with: "new")
    let replayer = MutationReplayer(client: client)
    try replayer.register(new)
    while try storage.outbox.counts.pending > 0 { _ = try await replayer.replayOnce() }
    #expect(Set(versions.elements) == [[1, 0], [1, 1], [2, 0]])
    try await storage.close()
  }

  @Test func argumentsOfAnotherCoderAreNotGivenToARow() async throws {
    let storage = try self.storage()
    let refusing = Post { _, _ in throw HTTPStatusError(statusCode: 422) }
    let old = refusing.persisted(as: "post")
    let replayer = MutationReplayer(client: QueryClient(storage: storage))
    try replayer.register(old)
    let ticket = try await QueryClient(storage: storage).store(for: old).enqueue(with: "a")
    #expect(try await replayer.replayOnce() == ReplaySummary(dead: 1))
    let new = refusing.persisted(as: "post", .init(coder: .propertyList))
    let store = QueryClient(storage: storage).store(for: new)
    #expect(try store.dead.map(\.arguments) == [nil])
    await #expect(throws: OutboxError.otherCoder(ticket.id, name: "json")) {
      try await store.retry(ticket.id, with: "b")
    }
    try await storage.close()
  }

  @Test func whatIsSentLaterSurvivesARestartAndIsUndone() async throws {
    let post = Post().persisted(as: "post")
    let first = try self.storage()
    let store = QueryClient(storage: first).store(for: post)
    let later = try await store.enqueue(with: "later", after: .seconds(3_600))
    let undone = try await store.enqueue(with: "undone", after: .seconds(3_600))
    try await first.close()
    let storage = try self.storage()
    let client = QueryClient(storage: storage)
    let replayer = MutationReplayer(client: client)
    try replayer.register(post)
    #expect(try await replayer.replayOnce() == ReplaySummary(waiting: 2))
    #expect(try storage.outbox.entry(later.id)?.waitReason == .scheduled)
    let hasEnded = try await storage.outbox.cancel(undone.id)
    #expect(hasEnded)
    try await storage.outbox.retry(later.id)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    try await storage.close()
  }
}

/// An application's test of waits, with what is public.
@Suite(.warningsAreIssues) struct MockedTimeTests {
  private let clock = MockQueryClock()
  private let storage: MemoryQueryStorage
  private let client: QueryClient
  private let answers = Recorder<Int>()

  init() {
    self.storage = MemoryQueryStorage(clock: self.clock)
    var context = QueryContext()
    context.queryClock = self.clock
    self.client = QueryClient(storage: self.storage, defaultContext: context)
  }

  private var post: some MutationRequest<String, Int> {
    BlockMutation(["post"]) { [answers] (_: String, _) in
      answers.append(0)
      if answers.count == 1 { throw HTTPStatusError(statusCode: 503, retryAfter: .seconds(8)) }
      return answers.count
    }
    .persisted(as: "post")
  }

  @Test func aServersWaitTakesNoTime() async throws {
    let post = self.post
    let replayer = MutationReplayer(
      client: self.client, configuration: ReplayConfiguration(clock: self.clock))
    try replayer.register(post)
    let ticket = try await self.client.store(for: post).enqueue(with: "a")
    #expect(try await replayer.replayOnce() == ReplaySummary(failed: 1))
    #expect(try self.storage.outbox.entry(ticket.id)?.waitReason == .retryAfter)
    self.clock.advance(by: .seconds(7))
    #expect(try await replayer.replayOnce() == ReplaySummary(waiting: 1))
    self.clock.advance(by: .seconds(1))
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
  }

  @Test func aStorageOnDiskGoesByTheClockOverARestart() async throws {
    let folder = try ScratchFolder()
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.clock = self.clock
    func storage() throws -> SQLiteQueryStorage {
      try SQLiteQueryStorage(directory: folder.url, configuration: configuration)
    }
    let post = self.post
    self.answers.append(0)
    let first = try storage()
    try await QueryClient(storage: first).store(for: post)
      .enqueue(with: "a", after: .seconds(86_400))
    try await first.close()
    let next = try storage()
    let replayer = MutationReplayer(
      client: QueryClient(storage: next), configuration: ReplayConfiguration(clock: self.clock))
    try replayer.register(post)
    #expect(try await replayer.replayOnce() == ReplaySummary(waiting: 1))
    self.clock.advance(by: .seconds(86_400))
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    try await next.close()
  }

  @Test func whatIsGivenBackBeforeTheClockIsMovedIsDueAtOnce() async throws {
    let folder = try ScratchFolder()
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.clock = self.clock
    let storage = try SQLiteQueryStorage(directory: folder.url, configuration: configuration)
    let handler = MutationHandler(name: "post", instance: "", version: 1, upgradesOlder: false)
    let claim = ClaimRequest(.lowest(handledBy: [handler]))
    for outbox in [storage.outbox, self.storage.outbox] as [any MutationOutbox] {
      let mutation = NewMutation(name: "post", instance: "", coder: "json", arguments: Data())
      let id = try await outbox.enqueue(mutation, claiming: false).entry.id
      let lease = try #require(try await outbox.claim(claim).leases.first)
      let failure = FailedAttempt(
        error: RestoredError(CancellationError()), outcome: "cancelled", isCharged: false,
        maybeApplied: false, next: .now)
      #expect(try await outbox.settle(lease, .failed(failure)))
      #expect(try await outbox.claim(claim).leases.map(\.entry.id) == [id])
    }
    try await storage.close()
  }

  @Test func aReplayerThatRunsGoesByTheClock() async throws {
    let post = self.post
    let replayer = MutationReplayer(
      client: self.client, configuration: ReplayConfiguration(clock: self.clock))
    try replayer.register(post)
    self.answers.append(0)
    let run = Task { try await replayer.run() }
    let ticket = try await self.client.store(for: post).enqueue(with: "a", after: .seconds(86_400))
    let outcome = Task { try await ticket.outcome() }
    #expect(self.answers.count == 1)
    self.clock.advance(by: .seconds(86_400))
    #expect(try await outcome.value == 2)
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
  }

  @Test(.timeLimit(.minutes(5)), arguments: StorageKind.allCases)
  func oneThatWaitsForAMutationLearnsThatTheStorageIsClosed(_ kind: StorageKind) async throws {
    let folder = try ScratchFolder()
    let storage = try kind.make(in: folder)
    let client = QueryClient(storage: storage)
    let save = BlockMutation(["save"]) { (_: Int, _) in }.persisted(as: "save")
    let ticket = try await client.store(for: save).enqueue(with: 1)
    let wait = Task { try await ticket.outcome() }
    await Task.yield()
    try await storage.close()
    let error = await #expect(throws: StorageError.self) { try await wait.value }
    #expect(error?.code == .misuse)
  }
}
