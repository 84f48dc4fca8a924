import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Replay §8: other processes are told of what is committed here.
@Suite struct OutboxNeighboursTests {
  private let scratch: OutboxScratch
  private let neighbours: Neighbours

  init() throws {
    self.scratch = try OutboxScratch()
    self.neighbours = Neighbours(kind: .mutations, folder: self.scratch.folder.path)
  }

  /// Waits until the thread that writes has told of all that was committed before.
  private func tell() async {
    await withCheckedContinuation { continuation in
      self.scratch.storage.mutations.database.thread.perform { writer in
        writer.neighbours.notify()
        continuation.resume()
      }
    }
  }

  @Test func eachCommitIsToldToThoseWhoFollowTheOutbox() async throws {
    let id = try await self.scratch.add()
    let connection = try SQLiteConnection(path: self.scratch.path)
    // A user has 128 watches, which the storages of other tests may use up.
    while self.neighbours.descriptor == nil {
      self.neighbours.follow(connection, watchingAfter: .zero)
      try await Task.sleep(for: .milliseconds(1))
    }
    // It looks a while after the last look.
    var now = SuspendingClock.now
    func isTold() async -> Bool {
      await self.tell()
      now += .seconds(1)
      return self.neighbours.look(connection, at: now) { _ in connection }
    }
    while await isTold() {}
    try await self.scratch.add("next")
    #expect(await isTold())
    let lease = try #require(try await self.scratch.claim().first)
    #expect(lease.entry.id == id)
    #expect(await isTold())
    _ = try await self.scratch.outbox.settle(lease, OutboxScratch.success)
    #expect(await isTold())
    try connection.close()
    try await self.scratch.storage.close()
  }
}
