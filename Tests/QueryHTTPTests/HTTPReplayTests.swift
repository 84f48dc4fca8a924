import Foundation
import Query
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

@testable import QueryHTTP

/// Durable requests, from the outbox to a server and back.
@Suite(.warningsAreIssues) struct HTTPReplayTests {
  private let storage = MemoryQueryStorage()
  private let client: QueryClient
  private let replayer: MutationReplayer

  init() {
    var context = QueryContext()
    // What failed stays pending for as long as any test takes.
    context.mutationBackoff = MutationBackoff(base: .seconds(3_600), maximum: .seconds(3_600))
    self.client = QueryClient(storage: self.storage, defaultContext: context)
    self.replayer = MutationReplayer(client: self.client)
  }

  private func entry(_ id: UUID) throws -> OutboxEntry {
    try #require(try self.storage.outbox.entry(id))
  }

  @Test func lostAnswerIsAskedForAgainWithTheSameKey() async throws {
    let server = try LoopbackServer { _, number in
      number == 1 ? .raw("") : .status(200, body: "done")
    }
    let http = HTTPMutation().durable()
    try self.replayer.register(http)
    let ticket = try await self.client.store(for: http)
      .enqueue(with: try HTTPRequestDescription(url: server.url, body: .data(Data("x".utf8))))
    #expect(try await self.replayer.replayOnce() == ReplaySummary(failed: 1))
    #expect(try self.entry(ticket.id).maybeApplied)
    #expect(try self.entry(ticket.id).failures == 0)
    try await self.storage.outbox.retry(ticket.id)
    #expect(try await self.replayer.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(try await ticket.outcome().body == Data("done".utf8))
    let keys = await server.requests.wait(forCount: 2).map { $0.headers["idempotency-key"] }
    #expect(keys == [ticket.idempotencyKey, ticket.idempotencyKey])
  }

  @Test func theUploadOfAFileTellsItsProgress() async throws {
    let (folder, gate) = (try ScratchFolder(), Gate())
    let size = 30_000_000
    let file = try folder.file("photo", Data(count: size))
    let server = try LoopbackServer(
      bodyStop: LoopbackServer.BodyStop(after: 1_000_000, gate: gate)
    ) { _, _ in .status(200) }
    let storage = try SQLiteQueryStorage(directory: folder.url.appending(path: "store"))
    let client = QueryClient(storage: storage)
    let replayer = MutationReplayer(client: client)
    let http = HTTPMutation().durable()
    try replayer.register(http)
    let store = client.store(for: http)
    let shown = Recorder<MutationProgress>()
    let subscription = store.subscribe { state in
      if let progress = state.history.last?.progress { shown.append(progress) }
    }
    let ticket = try await store.enqueue(
      with: try HTTPRequestDescription(url: server.url, body: .file(file)))
    let events = replayer.events
    async let summary = replayer.replayOnce()
    var told = [MutationProgress]()
    for await event in events {
      if case .progress(ticket.id, let progress) = event { told.append(progress) }
      // It has sent some of it, and the server takes no more.
      if told.count == 2 { gate.open() }
      if event == .succeeded(ticket.id) { break }
    }
    #expect(try await summary == ReplaySummary(succeeded: 1))
    let sent = told.map(\.sent)
    #expect(sent.first == 0)
    #expect(sent.last == Int64(size))
    #expect(sent == Set(sent).sorted())
    #expect(sent.count > 2 && sent.count <= 102)
    #expect(told.allSatisfy { $0.total == Int64(size) })
    #expect(await Set(told).isSuperset(of: shown.wait(forCount: 1)))
    #expect(store.state.history.last?.progress == nil, "it has ended")
    subscription.cancel()
    try await storage.close()
  }

  /// A killed process has told half of it, and the one that takes over begins anew.
  @Test func theProcessThatTakesAnUploadOverTellsItsProgressFromTheBeginning() async throws {
    let (folder, source, gate) = (try ScratchFolder(), try ScratchFolder(), Gate())
    let size = 30_000_000
    let file = try source.file("film", Data(count: size))
    let server = try LoopbackServer(
      bodyStop: LoopbackServer.BodyStop(after: 1_000_000, gate: gate)
    ) { _, _ in .status(200) }
    let url = server.url.absoluteString
    let writer = try self.worker(["upload", folder.path, url, file.path])
    #expect(await Self.rest(of: writer).last == "drained")

    let first = try self.worker(["uploads", folder.path, url])
    var sent = [Int]()
    // It has sent some of it, and the server takes no more.
    while sent.last ?? 0 < 1_000_000, let line = await first.line() {
      sent += Self.progress([line])
    }
    #expect(sent.first == 0)
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let store = QueryClient(storage: storage).store(for: HTTPMutation().durable())
    let running = try #require(store.history.last)
    #expect(running.isQueued && running.progress == nil, "it is told where it is sent")
    first.kill()
    sent += Self.progress(await Self.rest(of: first))
    #expect((sent.last ?? 0) < size)
    #expect(server.requests.count == 0)

    let second = try self.worker(["uploads", folder.path, url])
    let lines = await Self.rest(of: second)
    #expect(lines.last == "drained")
    let again = Self.progress(lines)
    #expect(again.first == 0 && again.last == size)
    #expect(again == again.sorted() && again.count > 10)
    #expect(await server.requests.wait(forCount: 1).first?.body.count == size)
    #expect(try storage.outbox.counts.rows == OutboxCounts())
    gate.open()
    try await storage.close()
  }

  private func worker(_ arguments: [String]) throws -> ChildProcess {
    try ChildProcess(ChildProcess.product("replay-worker"), arguments)
  }

  private static func rest(of process: ChildProcess) async -> [String] {
    var lines = [String]()
    for await line in process.lines { lines.append(line) }
    return lines
  }

  private static func progress(_ lines: [String]) -> [Int] {
    lines.compactMap { line in
      line.hasPrefix("progress ") ? Int(line.dropFirst("progress ".count)) : nil
    }
  }

  @Test func pageOfAPortalIsNotTheServersAnswer() async throws {
    let server = try LoopbackServer { request, number in
      number == 1
        ? .status(200, headers: ["Content-Type": "text/html"], body: "<title>Please log in")
        : .status(
          200, headers: ["Idempotency-Key": request.headers["idempotency-key"] ?? ""],
          body: "done")
    }
    let http = HTTPMutation().durable(.init(maxAttempts: 1))
    try self.replayer.register(http)
    let request = try HTTPRequestDescription(
      url: server.url, body: .data(Data("x".utf8)), expects: HTTPExpectation(echoesKey: true))
    let ticket = try await self.client.store(for: http).enqueue(with: request)
    #expect(try await self.replayer.replayOnce() == ReplaySummary(failed: 1))
    let entry = try self.entry(ticket.id)
    #expect(entry.maybeApplied && entry.failures == 0)
    #expect(entry.waitReason == .backoff)
    try await self.storage.outbox.retry(ticket.id)
    #expect(try await self.replayer.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(try await ticket.outcome().body == Data("done".utf8))
  }

  @Test(arguments: [511, 407])
  func portalsOwnStatusCostsNothing(_ status: Int) async throws {
    let server = try LoopbackServer { _, _ in .status(status) }
    let http = HTTPMutation().durable(.init(maxAttempts: 1))
    try self.replayer.register(http)
    let ticket = try await self.client.store(for: http)
      .enqueue(with: try HTTPRequestDescription(url: server.url))
    #expect(try await self.replayer.replayOnce() == ReplaySummary(failed: 1))
    #expect(try self.entry(ticket.id).failures == 0)
  }

  @Test func rowGoesByTheHostOfItsURLAndHoldsNoSecret() async throws {
    let server = try LoopbackServer { _, _ in .status(500) }
    let credential = HTTPCredential(for: [server.url]) { ["Authorization": "Bearer hushhush"] }
    let http = HTTPMutation(credentials: HTTPCredentials(["api": credential])).durable()
    try self.replayer.register(http)
    let ticket = try await self.client.store(for: http)
      .enqueue(with: try HTTPRequestDescription(url: server.url, credential: "api"))
    #expect(try await self.replayer.replayOnce() == ReplaySummary(failed: 1))
    let received = try #require(await server.requests.wait(forCount: 1).first)
    #expect(received.headers["authorization"] == "Bearer hushhush")
    let entry = try self.entry(ticket.id)
    #expect(entry.name == "http/1")
    #expect(entry.host == "127.0.0.1:\(try #require(server.url.port))")
    #expect(!String(decoding: entry.arguments, as: UTF8.self).contains("hushhush"))
  }

  @Test func serverSaysHowLongToWait() async throws {
    let server = try LoopbackServer { _, _ in .status(429, headers: ["Retry-After": "3600"]) }
    let http = HTTPMutation().durable()
    try self.replayer.register(http)
    let ticket = try await self.client.store(for: http)
      .enqueue(with: try HTTPRequestDescription(url: server.url))
    #expect(try await self.replayer.replayOnce() == ReplaySummary(failed: 1))
    let entry = try self.entry(ticket.id)
    #expect(entry.waitReason == .retryAfter)
    #expect(entry.failures == 1)
    #expect(try #require(entry.nextAttemptAt).timeIntervalSinceNow > 3_000)
  }

  @Test func missingCredentialWaitsForOne() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let http = HTTPMutation().durable()
    try self.replayer.register(http)
    let ticket = try await self.client.store(for: http)
      .enqueue(with: try HTTPRequestDescription(url: server.url, credential: "api"))
    #expect(try await self.replayer.replayOnce() == ReplaySummary(failed: 1))
    #expect(try self.entry(ticket.id).waitReason == .authentication)
    #expect(server.requests.count == 0)

    let client = QueryClient(storage: self.storage)
    let credential = HTTPCredential(for: [server.url]) { ["Authorization": "Bearer x"] }
    let credentials = HTTPCredentials(["api": credential])
    let replayer = MutationReplayer(client: client)
    try replayer.register(HTTPMutation(credentials: credentials).durable())
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
  }

  /// A mutation of one's own may send by an `HTTPMutation`, too: its error says the same there.
  @Test func aMutationThatSendsByAnotherOneWaitsForItsCredential() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let request = try HTTPRequestDescription(url: server.url, credential: "api")
    let create = BlockMutation(["create"]) { (_: Int, context) in
      let continuation = QueryContinuation<HTTPResponseDescription> { _, _ in }
      return try await HTTPMutation().mutate(with: request, in: context, with: continuation).status
    }.persisted(as: "create")
    try self.replayer.register(create)
    let ticket = try await self.client.store(for: create).enqueue(with: 1)
    #expect(try await self.replayer.replayOnce() == ReplaySummary(failed: 1))
    let entry = try self.entry(ticket.id)
    #expect(entry.waitReason == .authentication)
    #expect(!entry.maybeApplied && entry.failures == 0)
    #expect(server.requests.count == 0)
  }

  @Test func refusedRequestIsDeadAndKept() async throws {
    let server = try LoopbackServer { _, _ in .status(422, body: "no") }
    let http = HTTPMutation().durable(.init(scope: .named("a")))
    try self.replayer.register(http)
    let ticket = try await self.client.store(for: http)
      .enqueue(with: try HTTPRequestDescription(url: server.url))
    #expect(try await self.replayer.replayOnce() == ReplaySummary(dead: 1))
    let entry = try self.entry(ticket.id)
    #expect(entry.deadReason == .rejected)
    #expect(entry.lane == "a")
    #expect(!entry.maybeApplied)
    #expect(
      try self.storage.outbox.attempts(of: ticket.id).map(\.response) == [Data("no".utf8)])
  }

  @Test func serverThatIsNotThereCostsNothing() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    // Nobody listens at port 1.
    let url = try #require(URL(string: "http://127.0.0.1:1/"))
    let http = HTTPMutation().durable(.init(maxAttempts: 1))
    try self.replayer.register(http)
    let store = self.client.store(for: http)
    let ticket = try await store.enqueue(with: try HTTPRequestDescription(url: url))
    try await store.enqueue(with: try HTTPRequestDescription(url: server.url))
    #expect(try await self.replayer.replayOnce() == ReplaySummary(succeeded: 1, failed: 1))
    #expect(try self.entry(ticket.id).failures == 0)
    #expect(try !self.entry(ticket.id).maybeApplied)
  }

  /// The file is sent as it was when it was enqueued, by another process's eyes: all that is left of
  /// the first launch is what is on disk.
  @Test func fileIsSentAfterARestartAndGone() async throws {
    let (folder, source) = (try ScratchFolder(), try ScratchFolder())
    let data = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let file = try source.file("photo", data)
    let server = try LoopbackServer { _, _ in .status(200) }
    let http = HTTPMutation().durable()
    let first = try SQLiteQueryStorage(directory: folder.url)
    let ticket = try await QueryClient(storage: first).store(for: http)
      .enqueue(with: try HTTPRequestDescription(url: server.url, body: .file(file)))
    try FileManager.default.removeItem(at: file)
    try await first.close()

    let bodies = folder.url.appending(path: "bodies").path
    #expect(try FileManager.default.contentsOfDirectory(atPath: bodies).count == 1)
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let replayer = MutationReplayer(client: QueryClient(storage: storage))
    try replayer.register(http)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    let received = try #require(await server.requests.wait(forCount: 1).first)
    #expect(Data(received.body) == data)
    #expect(received.headers["idempotency-key"] == ticket.idempotencyKey)
    #expect(try FileManager.default.contentsOfDirectory(atPath: bodies) == [])
    try await storage.close()
  }

  @Test func damagedFileIsNotSent() async throws {
    let (folder, source) = (try ScratchFolder(), try ScratchFolder())
    let server = try LoopbackServer { _, _ in .status(200) }
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let client = QueryClient(storage: storage)
    let replayer = MutationReplayer(client: client)
    let http = HTTPMutation().durable()
    try replayer.register(http)
    let file = try source.file("photo", Data("before".utf8))
    let ticket = try await client.store(for: http)
      .enqueue(with: try HTTPRequestDescription(url: server.url, body: .file(file)))
    let copy = try #require(try await storage.outbox.bodies(of: ticket.id).first)
    try Data("befour".utf8).write(to: copy)
    #expect(try await replayer.replayOnce() == ReplaySummary(dead: 1))
    #expect(try storage.outbox.entry(ticket.id)?.deadReason == .rejected)
    #expect(server.requests.count == 0)
    try await storage.close()
  }

  /// What a row says is not trusted: only the copy is sent, not what its path leads to now.
  @Test func fileOfARowWithoutACopyIsNotSent() async throws {
    let source = try ScratchFolder()
    let file = try source.file("secret", Data("secret".utf8))
    let server = try LoopbackServer { _, _ in .status(200) }
    let http = HTTPMutation().durable()
    try self.replayer.register(http)
    let store = self.client.store(for: http)
    let ticket = try await store.enqueue(with: try HTTPRequestDescription(url: server.url))
    let other = try HTTPRequestDescription(url: server.url, body: .file(file))
    try await self.storage.outbox.retry(
      ticket.id, withArguments: try JSONQueryCoder.json.encode(other))
    #expect(try await self.replayer.replayOnce() == ReplaySummary(dead: 1))
    #expect(server.requests.count == 0)
  }
}
