import Foundation
import Query
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryHTTP

/// What a server says or does, and what becomes of the value on disk and of other processes' values.
@Suite(.serialized) struct HTTPTableTests {
  typealias Resource = ValidatingServer.Resource

  private let scratch: HTTPScratch
  private let server: ValidatingServer

  init() throws {
    self.scratch = try HTTPScratch()
    self.server = try ValidatingServer()
  }

  private var query: HTTPQuery<[Int]> { HTTPQuery(self.server.url("/notes")) }

  /// Without validators all of it comes again, and is not written again: its bytes are those on disk.
  @Test func theSameBytesAreNotWrittenAgain() async throws {
    let body = "\(Array(0..<20_000))"
    self.server["/notes"] = Resource(body)
    let store = self.scratch.client().store(for: self.query.persisted())
    try await store.fetch()
    try await self.scratch.storage.flush()
    let before = self.scratch.storage.statistics.bytesWritten
    #expect(before > body.utf8.count)
    self.scratch.clock.advance(by: 60)
    try await store.fetch()
    try await self.scratch.storage.flush()
    let written = self.scratch.storage.statistics.bytesWritten - before
    #expect(written > 0 && written < 20_000, "the date alone: \(written) bytes")
    #expect(self.server.answers.elements == ["200 /notes", "200 /notes"])
  }

  /// The clock of a board without a battery is years behind, so that all dates are far in the future.
  @Test func aDateFarInTheFutureCountsForADay() async throws {
    self.server["/notes"] = Resource(
      "[1]",
      headers: [
        "Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Expires": "Sun, 06 Nov 2044 08:49:37 GMT",
      ])
    let query = HTTPQuery(self.server.url("/notes"), as: [Int].self, policy: .serverFreshness)
      .persisted()
    try await self.scratch.client().store(for: query).fetch()
    try await self.scratch.relaunch()
    let store = self.scratch.client().store(for: query)
    self.scratch.clock.advance(by: 86_390)
    #expect(!store.isStale)
    self.scratch.clock.advance(by: 20)
    #expect(store.isStale)
  }

  /// What another process has refreshed comes with its validator.
  @Test func theNewerValueOfAnotherProcessComesWithItsValidator() async throws {
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    let query = self.query.persisted()
    let store = self.scratch.client().store(for: query)
    try await store.fetch()
    try await self.scratch.storage.flush()
    self.server["/notes"] = Resource("[2]", headers: ["ETag": "2"])
    let worker = try ChildProcess(
      ChildProcess.product("http-worker"),
      ["read", self.scratch.folder.path, self.server.url("/notes").absoluteString])
    #expect(await worker.line() == "[2]")
    #expect(await worker.end() == .code(0))
    // It may still have its own: whichever it asks by, it is that value's.
    #expect(try await store.fetch() == [2])
    try await self.scratch.relaunch()
    self.server.answers.removeAll()
    let later = self.scratch.client().store(for: query)
    #expect(later.currentValue == [2])
    #expect(try await later.fetch() == [2])
    #expect(self.server.answers.elements == ["304 /notes"])
    #expect(self.server.requests.elements.last?.headers["if-none-match"] == "2")
  }

  /// An edit is shown over what the server has sent, and neither changes the validator nor what it confirms.
  @Test func anEditChangesNoValidator() async throws {
    struct Add: MutationRequest, Hashable {
      func mutate(
        with number: Int, in context: QueryContext, with continuation: QueryContinuation<Int>
      ) async throws -> Int { throw HTTPStatusError(statusCode: 503) }
    }
    self.server["/notes"] = Resource("[1]", headers: ["ETag": "1"])
    let query = self.query
    let add = Add().persisted(as: "add")
      .optimistic(on: { _ in query }, { notes, number, _ in notes = (notes ?? []) + [number] })
    for launch in 1...2 {
      let client = self.scratch.client()
      try client.register(add)
      let store = client.store(for: query.persisted())
      if launch == 1 {
        try await store.fetch()
        try await client.store(for: add).enqueue(with: 7)
      }
      #expect(store.currentValue == [1, 7])
      try await store.fetch()
      #expect(store.currentValue == [1, 7])
      try await self.scratch.relaunch()
    }
    #expect(
      self.server.requests.elements.map { $0.headers["if-none-match"] } == [nil, "1", "1"])
    let values = try self.scratch.folder.rows("SELECT CAST(value AS TEXT) FROM entries")
    #expect(values == ["[1]"])
  }

  // MARK: - Streams

  /// What a stream sends before it breaks.
  enum Trouble: CaseIterable {
    case nothing, garbage, halfACharacter, endlessLine, noStream

    var answer: LoopbackServer.Answer {
      let script = StreamScript()
      switch self {
      case .nothing: break
      case .garbage: script.send(Array(0...255))
      case .halfACharacter: script.send(Array("data: 9 caf\u{e9}".utf8.dropLast()))
      case .endlessLine: script.send(Array(repeating: UInt8(ascii: "x"), count: 2 << 20))
      case .noStream: return .status(200, headers: ["Content-Type": "text/html"], body: "<html>")
      }
      script.end()
      return .pieces(script)
    }
  }

  @Test(arguments: Trouble.allCases)
  func aStreamThatIsNoneIsAskedForAgainAndChangesNothing(_ trouble: Trouble) async throws {
    let script = StreamScript()
    let streams = Counter()
    let server = try LoopbackServer { request, _ in
      guard request.line.contains("/events") else { return .status(200, body: "[1]") }
      return streams.increment() <= 3 ? trouble.answer : .pieces(script)
    }
    let root = try #require(URL(string: server.root))
    let client = self.scratch.client { $0.eventStreamDelayer = .noDelay }
    let applied = Recorder<String>()
    let store = client.store(
      for: HTTPQuery(root.appending(path: "notes"), as: [Int].self).stale(after: 3_600).persisted()
        .live(
          from: { EventStream(root.appending(path: "events")) },
          apply: .apply { numbers, event in
            applied.append(event.data)
            if let number = Int(event.data) { numbers.append(number) }
          }))
    let shown = Recorder<[Int]?>()
    let subscription = store.subscribe { shown.append($0.currentValue) }
    try await store.fetch()
    script.send("id: 1\ndata: 2\n\n")
    await shown.wait { $0.last == [1, 2] }
    #expect(Set(applied.elements) == ["2"])
    #expect(streams.value == 4)
    subscription.cancel()
    script.end()
  }
}
