import Foundation
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

/// A caller of `mutate` that waits for a write of another process, which dies.
@Suite struct WaitingForTheDeadTests {
  private let folder: TemporaryFolder
  private let storage: SQLiteQueryStorage
  private let client: QueryClient

  init() throws {
    self.folder = try TemporaryFolder()
    self.storage = try SQLiteQueryStorage(directory: URL(filePath: self.folder.path))
    var context = QueryContext()
    context.turnPatience = .milliseconds(20)
    self.client = QueryClient(storage: self.storage, defaultContext: context)
  }

  /// - Parameter isBusy: Whether other writes are entered meanwhile, without an end.
  @Test(arguments: [false, true])
  func theCallReturnsWithWhatIsSaved(isBusy: Bool) async throws {
    let sent = Recorder<Int>()
    let send = BlockMutation<Int, Void>(["send"]) { number, _ in sent.append(number) }
      .persisted(as: "send", .init(scope: .named("notes")))
    let store = self.client.store(for: send)
    // To learn the lane's name.
    let first = try await store.enqueue(with: 1)
    let lane = try #require(try self.storage.outbox.entry(first.id)?.lane)
    try await self.storage.outbox.cancel(first.id)
    let worker = try WorkerProcess("lease", self.folder.path, lane)
    var lines = worker.lines.makeAsyncIterator()
    #expect(await lines.next()?.hasPrefix("leased ") == true)
    let call = Task { try await store.submit(with: 2) }
    for await counts in self.storage.outbox.changes where counts.pending == 1 { break }
    let others = Task { [storage] in
      while isBusy, !Task.isCancelled {
        let other = NewMutation(name: "other", instance: "", coder: "json", arguments: Data())
        _ = try await storage.outbox.enqueue(other, claiming: false)
      }
    }
    worker.killNow()
    _ = await worker.waitForEnd()
    guard case .saved(let ticket, _) = try await call.value else {
      Issue.record("what waits behind a write that nobody sends was sent")
      return
    }
    others.cancel()
    try await others.value
    #expect(try self.storage.outbox.entry(ticket.id)?.state == .pending)
    #expect(sent.elements.isEmpty)
    try await self.storage.close()
  }
}
