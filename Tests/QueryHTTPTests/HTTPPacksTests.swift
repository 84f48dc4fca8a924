import Foundation
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

@testable import Query
@testable import QueryHTTP

/// Queries of HTTP in packs: they are data, which a later launch makes them from.
@Suite(.serialized) struct HTTPPacksTests {
  private static let isFull = ProcessInfo.processInfo.environment["FULL"] != nil
  private static let photos = isFull ? 1_000 : 150
  private static let kills = isFull ? 20 : 5
  private static let pages = 20

  struct Photo: Codable, Hashable, Sendable {
    var title: String
  }

  struct Page: HTTPPage, Hashable {
    static let firstPageID = 0
    var notes: [String]
    var next: Int?

    static func url(of id: Int, in list: URL) -> URL {
      list.appending(queryItems: [URLQueryItem(name: "page", value: "\(id)")])
    }

    func pageID(after id: Int) -> Int? { self.next }
  }

  private static func body(of page: Int) -> String {
    let next = page + 1 < Self.pages ? ",\"next\":\(page + 1)" : ""
    return "{\"notes\":[\"note \(page)\"]\(next)}"
  }

  private let scratch: HTTPScratch
  private let server: ValidatingServer

  init() throws {
    self.scratch = try HTTPScratch()
    self.server = try ValidatingServer()
    for page in 0..<Self.pages {
      self.server["/notes?page=\(page)"] = ValidatingServer.Resource(
        Self.body(of: page), headers: ["ETag": "page \(page)"])
    }
    for number in 0..<4 {
      self.server["/photos/\(number)"] = ValidatingServer.Resource(
        "{\"title\":\"photo \(number)\"}", headers: ["ETag": "photo \(number)"])
    }
  }

  private func photo(_ number: Int) -> HTTPQuery<Photo> {
    HTTPQuery(self.server.url("/photos/\(number)"))
  }

  private var notes: HTTPPages<Int, Page> { HTTPPages(self.server.url("/notes")) }

  /// Removes what is stored of a query.
  private func forget<State>(_ store: QueryStore<State>) async throws {
    store.reset()
    try await self.scratch.storage.flush()
  }

  /// Keeps a list, and waits for the whole of it, for which the client must live.
  private func keep(
    _ client: QueryClient, @PackBuilder _ members: () throws -> [PackMember]
  ) async throws {
    try await client.keep("area", refreshEvery: .seconds(60), members).whole()
    withExtendedLifetime(client) {}
  }

  /// The program says its list once; later launches know the types alone.
  @Test func aLaunchGoesOnWithWhatAKilledOneHasLeftByItsTypes() async throws {
    // How many answers a launch gets; the request after them is the last thing that it does.
    let (allowance, ends) = (Locked(0), Counter())
    let hasEnded = Recorder<Int>()
    let server = try LoopbackServer { request, _ in
      let isAnswered = allowance.withLock { left in
        left -= 1
        return left >= 0
      }
      guard isAnswered else {
        hasEnded.append(ends.increment())
        return .silence
      }
      let path = request.line.split(separator: " ")[1]
      let number = path.split { !$0.isNumber }.last.flatMap { Int($0) } ?? 0
      return path.hasPrefix("/photos/")
        ? .status(200, headers: ["ETag": "1"], body: "{\"title\":\"photo \(number)\"}")
        : .status(200, headers: ["ETag": "1"], body: Self.body(of: number))
    }
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: 7)
    for round in 1...Self.kills {
      let list = round == 1 ? ["\(Self.photos)"] : []
      allowance.withLock {
        $0 = Int.random(in: 0..<(Self.photos / Self.kills), using: &random)
      }
      let before = ends.value
      let worker = try ChildProcess(
        ChildProcess.product("http-worker"), ["pack", folder.path, server.root] + list)
      await hasEnded.wait { ($0.last ?? 0) > before }
      worker.kill()
      #expect(await worker.end() == .signal(SIGKILL), "round \(round)")
    }
    allowance.withLock { $0 = .max }
    let last = try ChildProcess(
      ChildProcess.product("http-worker"), ["pack", folder.path, server.root])
    var lines = [String]()
    for await line in last.lines { lines.append(line) }
    #expect(lines == ["begun", "whole \(Self.photos + 1) \(Self.photos + 1)"])
    #expect(await last.end() == .code(0))

    let counts = server.requests.elements.reduce(into: [String: Int]()) {
      $0[String($1.line.split(separator: " ")[1]), default: 0] += 1
    }
    #expect(counts.count == Self.photos + Self.pages)
    let needless = server.requests.count - counts.count
    #expect(needless <= Self.kills * (PackRunner.batch + PackFetch.pagesPerStep))

    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    let client = QueryClient(storage: storage)
    let root = try #require(URL(string: server.root))
    for number in 0..<Self.photos {
      let query = HTTPQuery<Photo>(root.appending(path: "photos/\(number)"))
      #expect(client.store(for: query.persisted()).currentValue?.title == "photo \(number)")
    }
    let pages = HTTPPages(root.appending(path: "notes"), as: Page.self)
    #expect(client.store(for: pages.persisted()).currentValue.count == Self.pages)
    try await storage.close()
  }

  @Test func aPackIsKeptFreshByValidators() async throws {
    try await self.keep(self.scratch.client()) {
      self.notes.pages(.first(3))
      for number in 0..<4 { self.photo(number) }
    }
    #expect(self.server.answers.elements.allSatisfy { $0.hasPrefix("200") })
    try await self.scratch.relaunch()
    self.server.answers.removeAll()
    self.server["/photos/2"] = ValidatingServer.Resource("{\"title\":\"new\"}")
    self.scratch.clock.advance(by: 120)
    let client = self.scratch.client()
    client.packs.register(HTTPQuery<Photo>.self)
    client.packs.register(HTTPPages<Int, Page>.self)
    try await client.packs.resume()
    let answers = await self.server.answers.wait(forCount: 7)
    #expect(
      answers.sorted() == [
        "200 /photos/2", "304 /notes?page=0", "304 /notes?page=1", "304 /notes?page=2",
        "304 /photos/0", "304 /photos/1", "304 /photos/3",
      ])
    // An answer is stored some time after the server has given it.
    let photo = self.photo(2).persisted()
    while self.scratch.client().store(for: photo).currentValue?.title != "new" {
      await Task.yield()
    }
    await client.packs.stop()
    try await self.scratch.relaunch()
    let store = self.scratch.client().store(for: self.photo(2).persisted())
    #expect(store.currentValue == Photo(title: "new"))
  }

  @Test func aSecretIsNotKept() async throws {
    let client = self.scratch.client()
    await #expect(throws: HTTPRequestError.headerNotAllowed("Cookie")) {
      try await client.keep("area") {
        HTTPQuery<Photo>(self.server.url("/photos/1"), headers: ["Cookie": "hushhush"])
      }
    }
    await #expect(throws: HTTPRequestError.secretInURL) {
      try await client.keep("area") {
        HTTPPages(
          try #require(URL(string: "http://me:hushhush@127.0.0.1/notes")), as: Page.self
        ).pages(.all)
      }
    }
    #expect(try await client.packs.list().isEmpty)
    try await self.scratch.storage.close()
    #expect(try self.scratch.folder.files(containing: "hushhush") == [])
  }

  /// Its closures are code, although its pages could say which one follows.
  @Test func pagesThatAreMadeOfClosuresWaitForTheSameList() async throws {
    let server = self.server
    let pages = HTTPPages(
      server.url("/notes"), first: 5, as: Page.self,
      url: { server.url("/notes?page=\($0)") }, next: { id, _ in id < 7 ? id + 1 : nil })
    #expect(!pages.isPackable)
    try await self.keep(self.scratch.client()) { pages.pages(.all) }
    #expect(server.answers.elements == (5...7).map { "200 /notes?page=\($0)" })
    try await self.scratch.relaunch()
    #expect(try self.scratch.folder.rows("SELECT request IS NULL FROM pack_members") == ["1"])
    let client = self.scratch.client()
    try await self.forget(client.store(for: pages.persisted()))
    client.packs.register(HTTPPages<Int, Page>.self)
    let waiting = try #require(try await client.packs.resume().first)
    await #expect(throws: PackError.notRegistered(pack: "area", members: 1)) {
      try await waiting.whole()
    }
    try await self.keep(client) { pages.pages(.all) }
    #expect(server.answers.count == 6)
  }

  /// A row that names one query and has the request of another, or of no one.
  @Test(arguments: [true, false])
  func aRequestOfAnotherQueryIsNotFetched(_ isRequest: Bool) async throws {
    try await self.keep(self.scratch.client()) { self.photo(0) }
    try await self.scratch.relaunch()
    let client = self.scratch.client()
    try await self.forget(client.store(for: self.photo(0).persisted()))
    let other = isRequest ? try JSONEncoder().encode(self.photo(1)) : Data("{}".utf8)
    let hex = other.map { String(format: "%02x", $0) }.joined()
    let beside = try self.scratch.folder.connection()
    _ = try beside.rowsOfText("UPDATE pack_members SET request = x'\(hex)'")
    try beside.close()
    self.server.answers.removeAll()
    client.packs.register(HTTPQuery<Photo>.self)
    let pack = try #require(try await client.packs.resume().first)
    await #expect(throws: PackError.notRegistered(pack: "area", members: 1)) {
      try await pack.whole()
    }
    #expect(self.server.answers.count == 0)
    withExtendedLifetime(client) {}
  }

  @Test func aTypeHasANameOfItsOwn() {
    #expect(
      HTTPQuery<Photo>.packName == "HTTPQuery<QueryHTTPTests.HTTPPacksTests.Photo>")
    #expect(
      HTTPQuery<[Photo]>.packName != HTTPQuery<Photo>.packName)
    #expect(
      HTTPPages<Int, Page>.packName == "HTTPPages<QueryHTTPTests.HTTPPacksTests.Page>")
  }

  @Test func whatIsCodedIsWhatItWas() throws {
    let query = HTTPQuery<Photo>(
      self.server.url("/photos/1"), headers: ["Accept": "image/png"], credential: "a",
      policy: .serverFreshness, removesOnGone: true,
      expects: HTTPExpectation(contentTypes: ["image/"]))
    let data = try JSONEncoder().encode(query)
    #expect(try JSONDecoder().decode(HTTPQuery<Photo>.self, from: data) == query)
    let plain = try JSONEncoder().encode(self.photo(1))
    #expect(try JSONDecoder().decode(HTTPQuery<Photo>.self, from: plain) == self.photo(1))
    #expect(try JSONSerialization.jsonObject(with: plain) as? [String: String] != nil)
  }
}
