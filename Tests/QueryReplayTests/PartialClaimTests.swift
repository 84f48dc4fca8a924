import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryReplay

/// One claim of a storage on disk looks at some hundred rows: what it has not looked at is not left.
@Suite(.timeLimit(.minutes(5))) struct PartialClaimTests {
  private let clock = ManualClock()
  private let storage: SQLiteQueryStorage
  private let client: QueryClient
  private let folder: ScratchFolder
  private let sent = Counter()

  init() throws {
    self.folder = try ScratchFolder()
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.outboxClock = self.clock.outboxClock
    self.storage = try SQLiteQueryStorage(directory: self.folder.url, configuration: configuration)
    self.client = QueryClient(storage: self.storage)
  }

  private func mutation(
    _ name: String, maxAge: Duration? = nil
  ) -> some MutationRequest<Int, Void> {
    BlockMutation([name]) { [sent] (_: Int, _) in sent.increment() }
      .persisted(as: name, MutationPersistenceOptions(maxAge: maxAge))
  }

  @Test func whatIsBehindManyThatAreTooOldIsSentByOneReplay() async throws {
    let save = self.mutation("save", maxAge: .seconds(60))
    let store = self.client.store(for: save)
    try await self.client.enqueue { batch in
      for number in 0..<700 { try batch.add(store, with: number) }
    }
    self.clock.advance(by: .seconds(61))
    let ticket = try await store.enqueue(with: 1)
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(save)
    let summary = try await replayer.replayOnce()
    #expect(summary.succeeded == 1 && summary.waiting == 0)
    try await ticket.outcome()
    #expect(self.sent.value == 1)
    #expect(try self.storage.outbox.counts.rows == OutboxCounts(dead: 700))
    try await self.storage.close()
  }

  @Test func whatBecomesDueBehindManyThatNobodySendsIsSentByOneReplay() async throws {
    let save = self.mutation("save")
    let (unknown, store) = (
      self.client.store(for: self.mutation("unknown")), self.client.store(for: save)
    )
    try await self.client.enqueue { batch in
      for number in 0..<700 { try batch.add(unknown, with: number, after: .seconds(10)) }
      try batch.add(store, with: 1, after: .seconds(11))
    }
    self.clock.advance(by: .seconds(60))
    let replayer = MutationReplayer(client: self.client)
    try replayer.register(save)
    let summary = try await replayer.replayOnce()
    #expect(summary.succeeded == 1 && summary.waiting == 700)
    #expect(self.sent.value == 1)
    try await self.storage.close()
  }
}
