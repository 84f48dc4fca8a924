import Foundation
import TestSupport
import Testing

@testable import Query

/// Members whose value is not on disk although they were fetched.
@Suite(.warningsAreIssues) struct PackRunnerTests {
  /// Fetches 1, and counts how often.
  private static func one(_ calls: Counter) -> BlockQuery<Int> {
    BlockQuery(["a"]) { _ in
      calls.increment()
      return 1
    }
  }

  @Test func whatIsResetBeforeItIsCountedIsFetchedAgain() async throws {
    let gate = Gate()
    let storage = ScriptedStorage(packs: { base in
      ScriptedPacks(base) { $0.willSettle = { _ in try await gate.pass() } }
    })
    let client = QueryClient(storage: storage)
    let calls = Counter()
    let query = Self.one(calls)
    let store = client.store(for: query.persisted())
    let pack = try await client.keep("pack") { query }
    await gate.arrival()
    store.reset()
    try await storage.flush()
    gate.open()
    #expect(try await pack.whole().done == 1)
    #expect(calls.value == 2)
  }

  @Test func whatIsResetWhileItIsFetchedIsFetchedAgain() async throws {
    let gate = Gate()
    let client = QueryClient(storage: MemoryQueryStorage())
    let calls = Counter()
    let query = BlockQuery(["a"]) { (_: QueryContext) in
      calls.increment()
      try await gate.pass()
      return 1
    }
    let store = client.store(for: query.persisted())
    let pack = try await client.keep("pack") { query }
    await gate.arrival()
    store.reset()
    gate.open()
    #expect(try await pack.whole().done == 1)
    #expect(calls.value == 2)
  }

  @Test func whatIsAlwaysCancelledHasFailed() async throws {
    let client = QueryClient(storage: MemoryQueryStorage())
    let calls = Counter()
    let pack = try await client.keep("pack") {
      BlockQuery(["a"]) { (_: QueryContext) -> Int in
        calls.increment()
        throw CancellationError()
      }
    }
    let error = await #expect(throws: PackError.self) { try await pack.whole() }
    guard case .membersFailed("pack", members: 1, _)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(calls.value == 1 + PackRetries.most)
  }

  /// The storage may have dropped it, if it could not write it.
  @Test func whatIsGoneWhenTheStorageHasRecoveredIsFetchedAgain() async throws {
    let error = StorageError(operation: "settle", code: .full, message: "the disk is full")
    let isFull = Locked(true)
    let storage = ScriptedStorage(packs: { base in
      ScriptedPacks(base) {
        $0.willSettle = { _ in
          if isFull.withLock({ isFull in
            defer { isFull = false }
            return isFull
          }) {
            throw error
          }
        }
      }
    })
    let client = QueryClient(storage: storage)
    let calls = Counter()
    let query = Self.one(calls)
    let store = client.store(for: query.persisted())
    let pack = try await client.keep("pack") { query }
    let isWaiting = await pack.updates.contains { $0.state == .waiting(.storage(error)) }
    #expect(isWaiting)
    store.reset()
    try await storage.flush()
    try await client.packs.resume()
    #expect(try await pack.whole().done == 1)
    #expect(calls.value == 2)
  }

  /// At once it would be the same failure, however much else is stored meanwhile.
  @Test func whatTheStorageFailsForIsTriedAgainAfterAPauseOrIfItIsToldTo() async throws {
    let error = StorageError(operation: "write", code: .full, message: "the disk is full")
    let (calls, isFull) = (Counter(), Locked(true))
    let client = QueryClient(storage: MemoryQueryStorage())
    let begin = ContinuousClock.now
    let pack = try await client.keep("pack") {
      BlockQuery(["a"]) { (_: QueryContext) in
        calls.increment()
        if isFull.withLock({ $0 }) { throw error }
        return 1
      }
    }
    let isWaiting = await pack.updates.contains { $0.state == .waiting(.storage(error)) }
    #expect(isWaiting)
    for round in 0..<20 {
      let other = try await client.keep("other \(round)") {
        BlockQuery(["other", "\(round)"]) { (_: QueryContext) in round }
      }
      #expect(try await other.whole().done == 1)
    }
    // A slow machine may come to the end of a pause.
    #expect(calls.value <= 1 + Int((.now - begin) / .seconds(5)))
    isFull.withLock { $0 = false }
    try await client.packs.resume()
    #expect(try await pack.whole().done == 1)
  }

  /// As an entry that another process has removed.
  @Test func aFreshStoreWhoseEntryIsGoneIsFetched() async throws {
    let storage = MemoryQueryStorage()
    let client = QueryClient(storage: storage)
    let calls = Counter()
    let query = Self.one(calls).stale(after: 3_600).persisted()
    let store = client.store(for: query)
    try await store.fetch()
    try await storage.flush()
    let identity = try QueryIdentity(path: query.path)
    storage[identity] = nil
    let pack = try await client.keep("pack") { query }
    #expect(try await pack.whole().done == 1)
    #expect(calls.value == 2)
    #expect(storage[identity] != nil)
  }
}
