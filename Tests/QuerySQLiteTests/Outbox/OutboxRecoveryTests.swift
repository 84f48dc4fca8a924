import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8, for the outbox: `recovered` says that writes work again, and says so once.
@Suite struct OutboxRecoveryTests {
  /// The health that a storage has reported, in order: true if it is degraded.
  private func health(
    of storage: SQLiteQueryStorage, until isWanted: @escaping @Sendable ([Bool]) -> Bool
  ) -> Task<[Bool], Never> {
    let events = storage.events
    return Task {
      var health = [Bool]()
      for await event in events {
        if case .degraded = event { health.append(true) }
        if case .recovered = event { health.append(false) }
        if isWanted(health) { break }
      }
      return health
    }
  }

  @Test func aProbeThatFailsIsNoRecovery() async throws {
    let vfs = FaultVFS()
    let scratch = try OutboxScratch {
      $0.vfs = vfs.name
      $0.retryDelay = .milliseconds(5)
    }
    try await scratch.add()
    let health = self.health(of: scratch.storage) { $0.last == false }
    vfs.fail([.write], nth: 1, persistently: true, with: 10)
    for _ in 0..<4 {
      await #expect(throws: StorageError.self) { try await scratch.add() }
      #expect(scratch.storage.statistics.isDegraded)
    }
    // Each probe is a write, so each fails.
    let failures = vfs.failures
    while vfs.failures < failures + 3 { try await Task.sleep(for: .milliseconds(2)) }
    #expect(scratch.storage.statistics.isDegraded)
    vfs.disarm()
    #expect(await health.value == [true, false])
    try await scratch.add()
    #expect(try scratch.outbox.counts.pending == 2)
    try await scratch.storage.close()
  }

  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a small file system"))
  func onAFullFileSystemWhatWaitsIsSentAndNothingIsSaidToHaveRecovered() async throws {
    let mounted = try MountedFolder(bytes: 8 << 20)
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.retryDelay = .milliseconds(5)
    let storage = try SQLiteQueryStorage(
      directory: URL(filePath: mounted.path), configuration: configuration)
    let text = String(repeating: "x", count: 20_000)
    for _ in 0..<50 {
      _ = try await storage.mutations.enqueue(OutboxScratch.mutation(text), claiming: false)
    }
    let health = self.health(of: storage) { $0.last == false }
    try mounted.fill()
    let large = OutboxScratch.mutation(String(repeating: "y", count: 4 << 20))
    await #expect(throws: StorageError.self) {
      try await storage.mutations.enqueue(large, claiming: false)
    }
    #expect(storage.statistics.isDegraded)
    let request = ClaimRequest(.lowest(handledBy: [OutboxScratch.handler]), limit: 1)
    for _ in 0..<50 {
      let lease = try #require(try await storage.mutations.claim(request).leases.first)
      #expect(try await storage.mutations.settle(lease, OutboxScratch.success))
    }
    #expect(try storage.mutations.counts.rows == OutboxCounts())
    mounted.makeRoom()
    _ = try await storage.mutations.enqueue(large, claiming: false)
    #expect(!storage.statistics.isDegraded)
    health.cancel()
    try await storage.close()
  }
}
