import Foundation
import Query
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

@testable import QueryHTTP

/// What a queue offers to applications holds over two processes of which the first is killed.
@Suite(.timeLimit(.minutes(10))) struct KilledCapabilitiesTests {
  /// A process's store, and what sends its requests.
  private struct Launch: Sendable {
    let storage: SQLiteQueryStorage
    let replayer: MutationReplayer
    let store: QueryStore<MutationState<HTTPRequestDescription, HTTPResponseDescription>>

    init(in path: String) throws {
      self.storage = try SQLiteQueryStorage(directory: URL(filePath: path))
      var context = QueryContext()
      // What failed stays pending for as long as any test takes.
      context.mutationBackoff = MutationBackoff(base: .seconds(3_600), maximum: .seconds(3_600))
      let client = QueryClient(storage: self.storage, defaultContext: context)
      self.replayer = MutationReplayer(client: client)
      let http = HTTPMutation().durable()
      try self.replayer.register(http)
      self.store = client.store(for: http)
    }
  }

  private static func request(
    _ url: String, _ body: String, expects: HTTPExpectation? = nil
  ) throws -> HTTPRequestDescription {
    try HTTPRequestDescription(
      url: try #require(URL(string: url)), body: .data(Data(body.utf8)), expects: expects)
  }

  private static let ids = (
    soon: UUID(uuidString: "0E9B5E0C-7C1C-4C53-9D15-0A4B1F2D3E01") ?? UUID(),
    later: UUID(uuidString: "0E9B5E0C-7C1C-4C53-9D15-0A4B1F2D3E02") ?? UUID()
  )

  @Test func whatIsToBeSentLaterIsSentByTheHeirOrTakenBackThere() async throws {
    let (folder, server) = (try ScratchFolder(), try LoopbackServer { _, _ in .status(200) })
    let end = await #expect(processExitsWith: .failure) {
      [path = folder.path as String, url = server.url.absoluteString as String] in
      let launch = try Launch(in: path)
      for (id, delay) in [(Self.ids.soon, 1), (Self.ids.later, 3_600)] {
        try await launch.store.enqueue(
          with: try Self.request(url, "\(delay)"), id: id, after: .seconds(delay))
      }
      kill(getpid(), SIGKILL)
    }
    #expect(end?.exitStatus == .signal(SIGKILL))
    let launch = try Launch(in: folder.path)
    #expect(try launch.storage.outbox.entry(Self.ids.later)?.waitReason == .scheduled)
    #expect(try await launch.storage.outbox.cancel(Self.ids.later))
    let run = Task { try await launch.replayer.run() }
    for await counts in launch.storage.outbox.changes where counts.pending + counts.leased == 0 {
      break
    }
    run.cancel()
    _ = await run.result
    #expect(server.requests.elements.map(\.body) == [Array("1".utf8)])
    #expect(
      server.requests.elements.map { $0.headers["idempotency-key"] } == [Self.ids.soon.uuidString])
    try await launch.storage.close()
  }

  @Test func theAnswerToARefusedWriteIsShownByTheHeirWhichSendsAnother() async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer { request, _ in
      request.body == Array("right".utf8) ? .status(200) : .status(422, body: "no such folder")
    }
    let end = await #expect(processExitsWith: .failure) {
      [path = folder.path as String, url = server.url.absoluteString as String] in
      let launch = try Launch(in: path)
      try await launch.store.enqueue(with: try Self.request(url, "wrong"), id: Self.ids.soon)
      #expect(try await launch.replayer.replayOnce() == ReplaySummary(dead: 1))
      kill(getpid(), SIGKILL)
    }
    #expect(end?.exitStatus == .signal(SIGKILL))
    let launch = try Launch(in: folder.path)
    let dead = try #require(try launch.store.dead.first)
    #expect(dead.id == Self.ids.soon && dead.reason == .rejected)
    #expect(dead.response == Data("no such folder".utf8))
    #expect(dead.arguments?.body == .data(Data("wrong".utf8)))
    let right = try Self.request(server.url.absoluteString, "right")
    try await launch.store.retry(dead.id, with: right)
    #expect(try await launch.replayer.replayOnce() == ReplaySummary(succeeded: 1))
    let keys = server.requests.elements.map { $0.headers["idempotency-key"] }
    #expect(keys.count == 2 && Set(keys).count == 2, "other arguments, another key")
    try await launch.storage.close()
  }

  @Test func thePageOfAPortalIsNoAnswerForTheHeirEither() async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer { request, number in
      number == 1
        ? .status(200, headers: ["Content-Type": "text/html"], body: "<title>Please log in")
        : .status(200, headers: ["Idempotency-Key": request.headers["idempotency-key"] ?? ""])
    }
    let end = await #expect(processExitsWith: .failure) {
      [path = folder.path as String, url = server.url.absoluteString as String] in
      let launch = try Launch(in: path)
      let request = try Self.request(url, "x", expects: HTTPExpectation(echoesKey: true))
      try await launch.store.enqueue(with: request, id: Self.ids.soon)
      #expect(try await launch.replayer.replayOnce() == ReplaySummary(failed: 1))
      kill(getpid(), SIGKILL)
    }
    #expect(end?.exitStatus == .signal(SIGKILL))
    let launch = try Launch(in: folder.path)
    let entry = try #require(try launch.storage.outbox.entry(Self.ids.soon))
    #expect(entry.maybeApplied && entry.failures == 0)
    try await launch.storage.outbox.retry(Self.ids.soon)
    #expect(try await launch.replayer.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(server.requests.elements.count == 2)
    try await launch.storage.close()
  }

  @Test func whatNobodyHandlesAndHowLongAWriteHasWaitedIsToldByTheHeir() async throws {
    let (folder, server) = (try ScratchFolder(), try LoopbackServer { _, _ in .status(200) })
    let end = await #expect(processExitsWith: .failure) {
      [path = folder.path as String, url = server.url.absoluteString as String] in
      let launch = try Launch(in: path)
      let other = NewMutation(
        name: "other", instance: "[]", version: 3, coder: "json", arguments: Data())
      _ = try await launch.storage.outbox.enqueue(other, claiming: false)
      try await launch.store.enqueue(with: try Self.request(url, "x"), id: Self.ids.soon)
      kill(getpid(), SIGKILL)
    }
    #expect(end?.exitStatus == .signal(SIGKILL))
    let launch = try Launch(in: folder.path)
    let outbox = launch.storage.outbox
    let authority = "127.0.0.1:\(try #require(server.url.port))"
    #expect(try outbox.countsByHost()[authority]?.pending == 1)
    let created = try #require(try outbox.entry(Self.ids.soon)?.createdAt)
    let events = launch.replayer.events
    async let summary = launch.replayer.replayOnce()
    var (unhandled, ended) = ([ReplayEvent](), [ReplayEvent]())
    for await event in events {
      if case .unhandled = event { unhandled.append(event) }
      if case .attemptEnded(Self.ids.soon, authority, let duration, let waited) = event {
        ended.append(event)
        #expect(duration > .zero && waited > .zero)
        #expect(waited <= .seconds(Date().timeIntervalSince(created)))
      }
      if !unhandled.isEmpty, !ended.isEmpty { break }
    }
    #expect(unhandled == [.unhandled(name: "other", version: 3, count: 1)])
    #expect(try await summary == ReplaySummary(succeeded: 1, waiting: 1))
    #expect(try outbox.countsByHost()[authority] == nil)
    try await launch.storage.close()
  }
}
