import Foundation
import FoundationNetworking
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryReplay

/// Hosts that are not well, on disk and behind a real server.
@Suite(.warningsAreIssues) struct HostReplayTests {
  private let folder: ScratchFolder
  private let storage: SQLiteQueryStorage
  private let client: QueryClient

  init() throws {
    self.folder = try ScratchFolder()
    self.storage = try SQLiteQueryStorage(directory: self.folder.url)
    self.client = QueryClient(storage: self.storage)
  }

  private func send(to server: LoopbackServer) -> some MutationRequest<Int, Void> {
    let url = server.url
    return BlockMutation(["send"]) { (_: Int, _) in
      let (_, response) = try await URLSession.shared.data(from: url)
      guard let response = response as? HTTPURLResponse, response.statusCode != 200 else { return }
      let wait = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }
      throw HTTPStatusError(
        statusCode: response.statusCode, retryAfter: wait.map { .seconds($0) })
    }
    .persisted(as: "send", .init(host: { _ in "notes.example" }))
  }

  /// What one run of a new replayer, as of a timer, sends.
  private func turn(_ send: some MutationRequest<Int, Void>) async throws -> ReplaySummary {
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(send)
    return try await replayer.replayOnce()
  }

  @Test func hostThatAskedToWaitIsNotSentTheOthers() async throws {
    let server = try LoopbackServer { _, _ in .status(429, headers: ["Retry-After": "3600"]) }
    let send = self.send(to: server)
    let store = self.client.store(for: send)
    var tickets = [MutationTicket<Void>]()
    for number in 0..<50 { tickets.append(try await store.enqueue(with: number)) }
    for _ in 0..<3 { _ = try await self.turn(send) }
    #expect(server.requests.elements.count <= 4)
    let why = try self.storage.outbox.why(tickets[49].id)
    #expect(why.hasPrefix("The host notes.example asked to wait until "))
    let count = server.requests.elements.count
    let error = await #expect(throws: MutationQueuedError.self) { try await store.mutate(with: 50) }
    #expect(error?.waitReason == .retryAfter)
    #expect(server.requests.elements.count == count)
    try await self.storage.close()
  }

  @Test func wrongTokenIsSentTwiceAndOnceByEachNewReplayer() async throws {
    let isWrong = Locked(true)
    let server = try LoopbackServer { _, _ in .status(isWrong.withLock { $0 } ? 401 : 200) }
    let send = self.send(to: server)
    let store = self.client.store(for: send)
    for number in 0..<40 { try await store.enqueue(with: number) }
    _ = try await self.turn(send)
    let first = server.requests.elements.count
    #expect(first <= 2)
    for turn in 1...3 {
      _ = try await self.turn(send)
      #expect(server.requests.elements.count == first + turn)
    }
    isWrong.withLock { $0 = false }
    #expect(try await self.turn(send) == ReplaySummary(succeeded: 40))
    try await self.storage.close()
  }

  /// A server that is down, and rows without lanes.
  @Test func serverThatIsDownIsNotAskedByEachRow() async throws {
    let calls = Recorder<Int>()
    let send = BlockMutation(["send"]) { (number: Int, _) in
      calls.append(number)
      throw URLError(.cannotConnectToHost)
    }
    .persisted(as: "send")
    let store = self.client.store(for: send)
    for number in 0..<200 { try await store.enqueue(with: number) }
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(send)
    let summary = try await replayer.replayOnce()
    // On a slow machine the pause of one may be over before the host is left alone.
    #expect(summary.failed == Set(calls.elements).count, "\(summary) \(calls.elements)")
    #expect(calls.elements.count <= 4)
    try await self.storage.close()
  }
}
