import Foundation
import FoundationNetworking
import Query
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryHTTP

@Suite(.serialized) struct DeltaQueryTests {
  private static let rounds = ProcessInfo.processInfo.environment["FULL"] == nil ? 20 : 100

  private let scratch: HTTPScratch

  init() throws { self.scratch = try HTTPScratch() }

  /// A log of numbers: each change adds the next ones, and a merge throws if one is missing.
  private func query(_ server: LoopbackServer) -> DeltaQuery<[Int], [Int], Int> {
    DeltaQuery(["log"], from: []) { since, _ in
      let url = server.url.appending(
        queryItems: [URLQueryItem(name: "since", value: since.map { "\($0)" } ?? "none")])
      let (data, _) = try await HTTPTransport.shared.answer(from: url)
      let numbers = try JSONDecoder().decode([Int].self, from: data)
      return (numbers, numbers.max() ?? since ?? 0)
    } merge: { log, numbers in
      for number in numbers.sorted() where number > log.count {
        guard number == log.count + 1 else { throw DeltaGapError() }
        log.append(number)
      }
    }
  }

  /// What a server answers, by what it is asked since.
  private func server(
    _ answers: @escaping @Sendable (_ since: Int?) -> LoopbackServer.Answer
  ) throws -> LoopbackServer {
    try LoopbackServer { request, _ in answers(Self.since(request)) }
  }

  private static func since(_ request: ReceivedRequest) -> Int? {
    let value = request.line.split(separator: "=").last?.split(separator: " ").first
    return value.flatMap { Int($0) }
  }

  private func asked(_ server: LoopbackServer) -> [Int?] {
    server.requests.elements.map(Self.since)
  }

  @Test func cursorOutlivesTheLaunchWithItsValue() async throws {
    let server = try self.server { since in .status(200, body: "[\((since ?? 0) + 1)]") }
    _ = try await self.scratch.client().store(for: self.query(server).persisted()).fetch()
    try await self.scratch.relaunch()
    let store = self.scratch.client().store(for: self.query(server).persisted())
    #expect(try await store.fetch() == [1, 2])
    #expect(self.asked(server) == [nil, 1])
    store.currentValue = [1, 2]
    try await store.fetch()
    #expect(self.asked(server) == [nil, 1, nil], "a value that was set by hand has no cursor")
  }

  @Test func forgottenCursorIsAskedFromNothingWhileTheValueStays() async throws {
    let gate = Gate()
    let isForgotten = Locked(false)
    let server = try self.server { since in
      guard let since else {
        return isForgotten.withLock { $0 }
          ? .afterGate(gate, .status(200, body: "[1,2,3]")) : .status(200, body: "[1]")
      }
      return isForgotten.withLock { $0 } ? .status(410) : .status(200, body: "[\(since + 1)]")
    }
    let store = self.scratch.client().store(for: self.query(server).persisted())
    for _ in 0..<2 { try await store.fetch() }
    isForgotten.withLock { $0 = true }
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    #expect(store.currentValue == [1, 2])
    #expect(store.error == nil)
    gate.open()
    #expect(try await fetch.value == [1, 2, 3])
    #expect(self.asked(server) == [nil, 1, 2, nil])
    #expect(store.errorUpdateCount == 0)
  }

  @Test func aServerThatForgetsEverythingIsAskedTwiceAndNotForever() async throws {
    let server = try self.server { since in
      since == nil ? .status(410) : .status(200, body: "[1]")
    }
    let store = self.scratch.client().store(for: self.query(server).persisted())
    await #expect(throws: HTTPStatusError(statusCode: 410)) { try await store.fetch() }
    #expect(server.requests.count == 1)
  }

  @Test func whatComesTwiceOrInAnotherOrderIsMergedOnce() async throws {
    let server = try self.server { since in
      .status(200, body: since == nil ? "[2,1]" : "[3,1,2,3,4]")
    }
    let store = self.scratch.client().store(for: self.query(server).persisted())
    try await store.fetch()
    for _ in 0..<2 { #expect(try await store.fetch() == [1, 2, 3, 4]) }
    #expect(self.asked(server) == [nil, 2, 4])
  }

  @Test func aGapIsAskedFromNothing() async throws {
    let server = try self.server { since in
      .status(200, body: since == nil ? "[1,2,3,4]" : "[9]")
    }
    let store = self.scratch.client().store(for: self.query(server).persisted())
    for _ in 0..<2 { #expect(try await store.fetch() == [1, 2, 3, 4]) }
    #expect(self.asked(server) == [nil, 4, nil])
  }

  /// Each number has come once, and the next request asks from the greatest: the value and the cursor on
  /// disk are of one fetch, whenever the process was killed.
  @Test func killLeavesValueAndCursorOfOneFetch() async throws {
    try await self.scratch.storage.close()
    let server = try LoopbackServer { request, _ in
      let since = Self.since(request) ?? 0
      return .status(200, body: "\(Array(since + 1...since + 1 + since % 3))")
    }
    var random = SeededGenerator(seed: 7)
    var last = 0
    for round in 0..<Self.rounds {
      let worker = try ChildProcess(
        ChildProcess.product("http-worker"),
        ["delta", self.scratch.folder.path, server.url.absoluteString])
      var left = Int.random(in: 1...40, using: &random)
      for await _ in worker.lines {
        left -= 1
        if left == 0 { break }
      }
      usleep(UInt32.random(in: 0...60_000, using: &random))
      worker.kill()
      _ = await worker.end()
      // By a path of its own: what the first one has sent may be read after its end.
      let path = "/second\(round)"
      let second = try ChildProcess(
        ChildProcess.product("http-worker"),
        ["delta", self.scratch.folder.path, server.root + path])
      for await _ in second.lines { break }
      second.kill()
      _ = await second.end()
      let first = try #require(
        server.requests.elements.first { $0.line.contains("\(path)?") })
      let cursor = try #require(Self.since(first))
      #expect(cursor >= last)
      last = cursor
      let storage = try self.scratch.folder.storage()
      let store = QueryClient(storage: storage)
        .store(for: BlockQuery<[Int: Int]>(["numbers"]) { _ in [:] }.persisted())
      let counts = store.currentValue ?? [:]
      #expect(counts.values.allSatisfy { $0 == 1 })
      #expect(Set(counts.keys) == Set(1..<(counts.count + 1)))
      #expect(counts.count >= cursor)
      try await storage.close()
    }
    #expect(last > 0)
  }
}
