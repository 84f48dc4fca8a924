import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// What a process leaves to later steps is done by one that goes on, if it exits before.
@Suite(.timeLimit(.minutes(10))) struct LeftoverLooksTests {
  private static let count = 150

  /// The first row ends in a process that is killed at once.
  enum End: String, CaseIterable, Codable, Sendable {
    case success, alias, discard
  }

  /// Whether a row has ended, of which other processes have not been told yet.
  private static func isEnd(_ event: OutboxEvent) -> Bool {
    switch event {
    case .succeeded, .discarded: true
    default: false
    }
  }

  private static func end(_ end: End, in path: String) async throws {
    let scratch = try OutboxScratch(in: TemporaryFolder(path: path))
    let id = try #require(try scratch.outbox.entries().first?.id)
    let subscription = scratch.outbox.subscribe { event in
      if Self.isEnd(event) { kill(getpid(), SIGKILL) }
    }
    defer { subscription.cancel() }
    if end == .discard {
      try await scratch.outbox.discard(id)
    } else {
      let lease = try #require(
        try await scratch.outbox.claim(ClaimRequest(.mutation(id))).leases.first)
      let aliases = end == .alias ? ["server": "7"] : [:]
      _ = try await scratch.outbox.settle(
        lease, .succeeded(SuccessfulAttempt(result: nil, aliases: aliases)))
    }
    // The event may come later than the answer.
    while true { try await Task.sleep(for: .seconds(1)) }
  }

  @Test(arguments: End.allCases)
  func whatAKilledProcessHasLeftIsDoneByOneThatGoesOn(_ end: End) async throws {
    let scratch = try OutboxScratch()
    let first = try await scratch.add("first", lane: "first")
    let mutations = (0..<Self.count).map {
      OutboxScratch.mutation("\($0)", lane: "\($0)", after: end == .alias ? [] : [first])
    }
    _ = try await scratch.outbox.enqueue(mutations)
    if end == .alias {
      let request = ClaimRequest(
        .lowest(handledBy: [OutboxScratch.handler]), limit: Self.count + 1)
      for lease in try await scratch.outbox.claim(request).leases {
        let next: FailedAttempt.Next = lease.entry.id == first ? .now : .waitForAlias("server")
        _ = try await scratch.outbox.settle(lease, OutboxScratch.failure(next))
      }
    }
    if end == .discard {
      let lease = try #require(
        try await scratch.outbox.claim(ClaimRequest(.mutation(first))).leases.first)
      _ = try await scratch.outbox.settle(lease, OutboxScratch.failure(.dead(.rejected)))
    }
    let result = await #expect(processExitsWith: .failure) {
      [path = scratch.folder.path as String, end = end as End] in
      try await Self.end(end, in: path)
    }
    #expect(result?.exitStatus == .signal(SIGKILL))
    // Nothing else is done here: no commit of this process helps.
    if end == .discard {
      while try scratch.outbox.counts.dead < Self.count {
        try await Task.sleep(for: .milliseconds(20))
      }
    } else {
      while try scratch.outbox.entries().contains(where: { $0.waitReason != nil }) {
        try await Task.sleep(for: .milliseconds(20))
      }
      #expect(try scratch.outbox.counts.pending == Self.count)
    }
    try await scratch.storage.close()
  }

  /// The cache is told by the process whose write has succeeded; if that has died, by another one.
  @Test func whatASuccessInvalidatesIsInvalidatedByOneThatGoesOn() async throws {
    let folder = try TemporaryFolder()
    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    let client = QueryClient(storage: storage)
    let notes = client.store(for: BlockQuery<Int>(["notes"]) { _ in 1 }.persisted())
    try await notes.fetch()
    try await storage.flush()
    let connection = try SQLiteConnection(path: "\(folder.path)/cache.sqlite")
    let invalidated = "SELECT count(*) FROM entries WHERE invalidated_at <> 0"
    #expect(try connection.rowsOfText(invalidated) == ["0"])
    // A program that has nothing to do with the outbox does not open it.
    _ = try await storage.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
    // Nobody tells the cache before the other one has died.
    _ = try connection.rowsOfText("BEGIN IMMEDIATE")
    let result = await #expect(processExitsWith: .failure) { [path = folder.path as String] in
      try await Self.succeed(in: path)
    }
    #expect(result?.exitStatus == .signal(SIGKILL))
    _ = try connection.rowsOfText("ROLLBACK")
    while try connection.rowsOfText(invalidated) == ["0"] {
      try await Task.sleep(for: .milliseconds(20))
    }
    try connection.close()
    try await storage.close()
  }

  private static func succeed(in path: String) async throws {
    let scratch = try OutboxScratch(in: TemporaryFolder(path: path))
    let lease = try #require(
      try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: true).lease)
    let subscription = scratch.outbox.subscribe { event in
      if Self.isEnd(event) { kill(getpid(), SIGKILL) }
    }
    defer { subscription.cancel() }
    _ = try await scratch.outbox.settle(
      lease,
      .succeeded(SuccessfulAttempt(result: nil, invalidates: [QueryPath(["notes"])])))
    // The event may come later than the answer.
    while true { try await Task.sleep(for: .seconds(1)) }
  }
}
