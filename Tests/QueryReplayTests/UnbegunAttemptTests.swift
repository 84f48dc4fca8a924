import Foundation
import Query
import QueryReplay
import TestSupport
import Testing

@testable import QuerySQLite

/// An attempt that its caller's store was to make, and that has ended before it began.
@Suite(.warningsAreIssues) struct UnbegunAttemptTests {
  private let folder: ScratchFolder

  init() throws { self.folder = try ScratchFolder() }

  @Test(arguments: StorageKind.allCases)
  func aCancelledAttemptThatNeverBeganDoesNotBlockItsLane(_ kind: StorageKind) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient(storage: storage)
    let sent = Recorder<String>()
    let create = BlockMutation(["create"]) { (text: String, _) in sent.append(text) }
      .persisted(as: "create", .init(scope: .named("notes")))
    let store = client.store(for: create)
    let attempts = Counter()
    // As a list of attempts does in which a person cancels the first one as soon as it is there.
    let subscription = store.subscribe { state in
      guard state.isLoading, attempts.increment() == 1 else { return }
      state.history.last?.task.cancel()
    }
    defer { subscription.cancel() }
    _ = try? await store.mutate(with: "first")
    let replaying = try client.startReplaying(create, network: MockNetworkObserver())
    try await store.enqueue(with: "second").outcome()
    // It was cancelled, and is saved: it goes before those that were entered later.
    #expect(sent.elements == ["first", "second"])
    await replaying.stop()
    try await storage.close()
  }

  /// Another process stands still in a transaction just then.
  @Test(.timeLimit(.minutes(5)))
  func aFileThatIsLockedThenBlocksTheLaneForNoLongerThanThat() async throws {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.busyTimeout = .milliseconds(50)
    let storage = try SQLiteQueryStorage(
      directory: self.folder.url, configuration: configuration)
    let client = QueryClient(storage: storage)
    let sent = Recorder<String>()
    let create = BlockMutation(["create"]) { (text: String, _) in sent.append(text) }
      .persisted(as: "create", .init(scope: .named("notes")))
    let store = client.store(for: create)
    let file = self.folder.url.appendingPathComponent("mutations.sqlite").path
    let other = Locked(SQLiteConnection?.none)
    let isLocked = Gate()
    let attempts = Counter()
    let subscription = store.subscribe { state in
      guard state.isLoading, attempts.increment() == 1 else { return }
      other.withLock { other in
        other = try? SQLiteConnection(path: file)
        _ = try? other?.pragma("BEGIN IMMEDIATE")
      }
      isLocked.open()
      state.history.last?.task.cancel()
    }
    defer { subscription.cancel() }
    let first = Task { try await store.mutate(with: "first") }
    try await isLocked.pass()
    // Longer than the storage waits for the lock.
    try await Task.sleep(for: .milliseconds(300))
    try other.withLock { other in
      _ = try other?.pragma("ROLLBACK")
      try other?.close()
      other = nil
    }
    _ = try? await first.value
    let replaying = try client.startReplaying(create, network: MockNetworkObserver())
    try await store.enqueue(with: "second").outcome()
    #expect(sent.elements == ["first", "second"])
    await replaying.stop()
    try await storage.close()
  }
}
