import Foundation
import Query
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryHTTP

/// A process that follows a stream, and is killed at any moment.
@Suite(.serialized) struct LiveQueryKillTests {
  private static let rounds = ProcessInfo.processInfo.environment["FULL"] == nil ? 20 : 100

  /// Unless it is to be fetched anew, the value has all numbers up to its event. It may have more: events
  /// come that a value which was fetched meanwhile has already.
  @Test func killLeavesAValueWithTheEventThatItHas() async throws {
    let scratch = try StorageScratch()
    let server = try CountingServer()
    let path = HTTPQuery(try #require(URL(string: server.root + "/notes")), as: [Int].self).path
    var random = SeededGenerator(seed: 11)
    var resumed = 0
    for round in 0..<Self.rounds {
      let worker = try ChildProcess(
        ChildProcess.product("http-worker"), ["live", scratch.path, server.root])
      var left = Int.random(in: 3...60, using: &random)
      for await _ in worker.lines {
        left -= 1
        if left == 0 { break }
      }
      usleep(UInt32.random(in: 0...120_000, using: &random))
      worker.kill()
      _ = await worker.end()

      let storage = try scratch.storage()
      let metadata = Locked<Data?>(nil)
      let query = BlockQuery<[Int]>(path) { context, _ in
        metadata.withLock { $0 = context.storedValue?.metadata }
        throw TestError("only looks")
      }
      let store = QueryClient(storage: storage, storeCreator: .default(retryLimit: 0))
        .store(for: query.persisted())
      _ = try? await store.fetch()
      let numbers = store.currentValue ?? []
      if !store.isInvalidated, let event = LiveMetadata(metadata.withLock { $0 })?.event {
        #expect(numbers.sorted() == Array(1..<(numbers.count + 1)), "round \(round)")
        #expect(numbers.count >= Int(event) ?? .max, "round \(round)")
        resumed += 1
      }
      try await storage.close()
    }
    #expect(resumed > 0)
  }
}

/// A server that counts, and tells of each number by an event with the number as its id.
private final class CountingServer: Sendable {
  private let server: LoopbackServer
  private let isOver = Locked(false)

  init() throws {
    let (count, isOver) = (Locked(1), self.isOver)
    self.server = try LoopbackServer { request, _ in
      guard request.line.contains("/events") else {
        let last = count.withLock { $0 }
        return .status(200, headers: ["ETag": "\(last)"], body: "\(Array(1...last))")
      }
      let script = StreamScript()
      let first = request.headers["last-event-id"].flatMap { Int($0) }
      Thread.detachNewThread {
        var next = (first ?? count.withLock { $0 }) + 1
        // It ends before the test does, and with its connection after some time.
        for _ in 0..<2_000 where !isOver.withLock({ $0 }) {
          let number = next
          count.withLock { $0 = max($0, number) }
          script.send("id: \(number)\ndata: \(number)\n\n")
          next += 1
          usleep(2_000)
        }
        script.end()
      }
      return .pieces(script)
    }
  }

  deinit { self.isOver.withLock { $0 = true } }

  var root: String { self.server.root }
}
