import Foundation
import Query
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

/// One call to start, with the storage that is shipped.
@Suite(.warningsAreIssues) struct QueryClientReplayingTests {
  private func mutation(
    _ name: String, _ sent: Recorder<String>
  ) -> some MutationRequest<String, Int> {
    BlockMutation([name]) { (text: String, _) in
      sent.append(text)
      return sent.count
    }
    .persisted(as: name)
  }

  @Test func whatIsNamedIsSentUntilTheRunIsStopped() async throws {
    let folder = try ScratchFolder()
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let client = QueryClient(storage: storage)
    let sent = Recorder<String>()
    let (create, rename) = (self.mutation("create", sent), self.mutation("rename", sent))
    let replaying = try client.startReplaying(create, rename, network: MockNetworkObserver())
    let first = try await client.store(for: create).enqueue(with: "a")
    let second = try await client.store(for: rename).enqueue(with: "b", dependsOn: [first.id])
    _ = try await first.outcome()
    _ = try await second.outcome()
    #expect(sent.elements == ["a", "b"])
    await replaying.stop()
    try await client.store(for: create).enqueue(with: "c")
    #expect(try storage.outbox.counts.pending == 1)
    try await storage.close()
  }

  @Test func lettingItGoStopsIt() async throws {
    let storage = MemoryQueryStorage()
    let client = QueryClient(storage: storage)
    let gate = Gate()
    let hanging = BlockMutation(["hang"]) { (_: String, _) in try await gate.pass() }
      .persisted(as: "hang")
    var replaying: Replaying? = try client.startReplaying(hanging)
    try await client.store(for: hanging).enqueue(with: "a")
    await gate.arrival()
    #expect(replaying != nil)
    replaying = nil
    for await counts in storage.outbox.changes where counts.pending == 1 { break }
  }

  @Test func aClientWithoutAStorageIsRefused() {
    let sent = Recorder<String>()
    #expect(throws: StorageError.self) {
      try QueryClient().startReplaying(self.mutation("create", sent))
    }
  }
}
