import Foundation
import Query
import QueryHTTP
import QuerySQLite
import TestSupport
import Testing

/// A store that a test fills and a tool works on. Its folder is removed with it.
final class ReplayStore: Sendable {
  /// The folder of the files.
  let folder: URL

  private let clock: OutboxClock?

  /// - Parameter wall: What the outbox takes for the wall clock's time; nil: what it is.
  init(wall: Date? = nil) throws {
    self.folder = FileManager.default.temporaryDirectory
      .appending(path: "replay-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    self.clock = wall.map { wall in
      OutboxClock {
        var time = OutboxClock.system.now()
        time.wall = wall
        return time
      }
    }
  }

  deinit { try? FileManager.default.removeItem(at: self.folder) }

  /// The path of the folder.
  var path: String { self.folder.path(percentEncoded: false) }

  /// Opens the store as an application does, and closes it.
  @discardableResult
  func open<Result: Sendable>(
    _ body: (SQLiteQueryStorage) async throws -> Result
  ) async throws -> Result {
    var configuration = SQLiteQueryStorage.Configuration()
    if let clock { configuration.outboxClock = clock }
    let storage = try SQLiteQueryStorage(directory: self.folder, configuration: configuration)
    do {
      let result = try await body(storage)
      try await storage.close()
      return result
    } catch {
      try? await storage.close()
      throw error
    }
  }

  /// Leaves requests, as an application that is offline does.
  ///
  /// - Parameters:
  ///   - count: How many.
  ///   - url: Their target.
  ///   - lane: Their lane; nil: each its own.
  ///   - dependencies: What must succeed before.
  ///   - credential: What they refer to.
  ///   - ids: Their identifiers; those that are missing are random.
  @discardableResult
  func add(
    _ count: Int = 1, to url: URL, lane: String? = nil, after dependencies: [UUID] = [],
    credential: String? = nil,
    ids: [UUID] = []
  ) async throws -> [UUID] {
    let request = try HTTPRequestDescription(
      url: url, body: .data(Data("{}".utf8)), credential: credential)
    let arguments = try JSONEncoder().encode(request)
    return try await self.open { storage in
      let client = QueryClient(storage: storage)
      let runner = try #require(try client.durableRunner(for: HTTPMutation().durable()))
      var result = [UUID]()
      for index in 0..<count {
        let id = index < ids.count ? ids[index] : UUID()
        let mutation = NewMutation(
          id: id, idempotencyKey: "key-\(id.uuidString.prefix(8))", name: HTTPMutation.name,
          instance: runner.handler.instance, lane: lane, host: "127.0.0.1",
          dependencies: dependencies, coder: "json", arguments: arguments)
        result.append(
          try await storage.outbox.enqueue(mutation, claiming: false).entry.id)
      }
      return result
    }
  }

  /// Leaves mutations that only their application can send.
  @discardableResult
  func addOther(
    _ name: String = "create-note", lane: String? = nil, id: UUID = UUID()
  ) async throws -> UUID {
    let mutation = NewMutation(
      id: id, idempotencyKey: "key-\(id.uuidString.prefix(8))", name: name, instance: "",
      lane: lane, coder: "json", arguments: Data("{}".utf8))
    try await self.open { try await $0.outbox.enqueue(mutation, claiming: false) }
    return id
  }

  /// Makes a mutation dead.
  func kill(_ id: UUID, _ reason: MutationDeadReason = .rejected) async throws {
    try await self.open { storage in
      let answer = try await storage.outbox.claim(ClaimRequest(.mutation(id)))
      let lease = try #require(answer.leases.first)
      let failure = FailedAttempt(
        error: RestoredError(typeName: "HTTPStatusError", text: "the status is 400\u{1b}[31m"),
        code: 400, outcome: "permanent", isCharged: true, maybeApplied: false,
        next: .dead(reason))
      let isSettled = try await storage.outbox.settle(lease, .failed(failure))
      #expect(isSettled)
    }
  }

  /// What the outbox has.
  func entries() async throws -> [OutboxEntry] {
    try await self.open { try $0.outbox.entries() }
  }

  /// How many it has.
  func counts() async throws -> OutboxCounts { try await self.open { try $0.outbox.counts } }
}
