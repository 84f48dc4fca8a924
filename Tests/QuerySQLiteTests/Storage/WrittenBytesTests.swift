import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §4: only what changed is written.
@Suite(.warningsAreIssues) struct WrittenBytesTests {
  /// Pages of 1 KB, and how the next fetch of one comes out.
  private struct KilobytePages: InfiniteQueryRequest, Hashable {
    var path: QueryPath { ["pages"] }
    let initialPageId = 0

    func pageId(
      after page: InfiniteQueryPage<Int, String>,
      using paging: InfiniteQueryPaging<Int, String>,
      in context: QueryContext
    ) -> Int? { page.id + 1 }

    func fetchPage(
      using paging: InfiniteQueryPaging<Int, String>,
      in context: QueryContext,
      with continuation: QueryContinuation<String>
    ) async throws -> String { Self.value(paging.pageId) }

    static func value(_ id: Int) -> String {
      let head = "page \(id) "
      return head + String(repeating: "x", count: 1_022 - head.count)
    }
  }

  private static func pages(
    in storage: SQLiteQueryStorage
  ) -> QueryStore<KilobytePages.State> {
    QueryClient(storage: storage).store(for: KilobytePages().persisted())
  }

  @Test func aHundredPagesFetchedBackToBackCostAtMost250000Bytes() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = .seconds(3_600) }
    let store = Self.pages(in: storage)
    for _ in 0..<100 { try await store.fetchNextPage() }
    try await storage.flush()
    #expect(storage.statistics.commits == 1)
    #expect(storage.statistics.bytesWritten > 100 * 1_024)
    #expect(storage.statistics.bytesWritten <= 250_000)
    try await storage.close()
  }

  @Test func aPageThatIsReplacedInTheMiddleIsWrittenAlone() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = .seconds(3_600) }
    let store = Self.pages(in: storage)
    for _ in 0..<100 { try await store.fetchNextPage() }
    try await storage.flush()
    let sql = "SELECT id, position, updated_at, hex(checksum) FROM pages ORDER BY position"
    let before = try scratch.rows(sql)
    #expect(before.count == 100)
    let written = storage.statistics.bytesWritten
    var pages = store.currentValue
    pages[id: 50] = InfiniteQueryPage(id: 50, value: String(KilobytePages.value(50).reversed()))
    store.currentValue = pages
    try await storage.flush()
    let after = try scratch.rows(sql)
    #expect(zip(before, after).count { $0 != $1 } == 1)
    #expect(before[50] != after[50])
    // The page, its entry, and the leaf of an index.
    #expect(storage.statistics.bytesWritten - written <= 5 * (4_096 + 24))
    try await storage.close()
  }

  @Test func aPageInFrontMovesNoOther() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = .seconds(3_600) }
    let store = Self.pages(in: storage)
    for _ in 0..<100 { try await store.fetchNextPage() }
    try await storage.flush()
    let sql = "SELECT id, position, updated_at FROM pages ORDER BY position"
    let before = try scratch.rows(sql)
    let page = InfiniteQueryPage(id: -1, value: "in front")
    store.currentValue = InfiniteQueryPages(uniqueElements: [page] + store.currentValue)
    try await storage.flush()
    #expect(try Array(scratch.rows(sql).dropFirst()) == before)
    try await storage.close()
  }

  /// A storage whose counters have grown so far that one more is no byte more.
  private static func usedStorage(in scratch: StorageScratch) async throws -> SQLiteQueryStorage {
    let storage = try scratch.storage()
    for number in 0..<3 { try await storage.set(["other": "\(number)", "a": "\(number)"]) }
    try await storage.set(["a": Self.megabyte])
    return storage
  }

  private static let megabyte = String(repeating: "x", count: 1 << 20)

  @Test func equalBytesAreNotWrittenAgain() async throws {
    let scratch = try StorageScratch()
    var storage = try await Self.usedStorage(in: scratch)
    let first = storage.statistics.bytesWritten
    #expect(first > 1 << 20)
    // The second time and the third one, also after a relaunch.
    for _ in 0..<2 {
      for _ in 0..<2 {
        let store = storage.store("a")
        await store.hydrated()
        let before = storage.statistics.bytesWritten
        store.currentValue = Self.megabyte
        try await storage.flush()
        #expect(storage.statistics.bytesWritten - before < 100_000)
      }
      try await storage.close()
      storage = try scratch.storage()
    }
    #expect(await storage.text("a") == Self.megabyte)
    try await storage.close()
  }

  @Test func anEntryThatIsTheSameInAllIsNotWrittenAtAll() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let clock = TestClock()
    let store = storage.store("a", clock: clock)
    store.currentValue = "edited"
    try await storage.flush()
    let written = storage.statistics.bytesWritten
    store.withExclusiveAccess { store in
      store.reset()
      store.currentValue = "edited"
    }
    try await storage.flush()
    #expect(storage.statistics.bytesWritten == written)
    try await storage.close()
  }

  @Test func aFailedRefreshWritesNoValueAgainAndKeepsIt() async throws {
    let scratch = try StorageScratch()
    let storage = try await Self.usedStorage(in: scratch)
    let store = storage.store("a", fetching: nil)
    await store.hydrated()
    let before = storage.statistics.bytesWritten
    await #expect(throws: CocoaError.self) { try await store.fetch() }
    try await storage.flush()
    #expect(storage.statistics.bytesWritten - before < 100_000)
    let next = storage.store("a")
    await next.hydrated()
    #expect(next.currentValue == Self.megabyte)
    #expect((next.error as? RestoredError)?.typeName.hasSuffix("CocoaError") == true)
    try await storage.close()
  }

  @Test func anInvalidationWritesNoValueAgain() async throws {
    let scratch = try StorageScratch()
    let storage = try await Self.usedStorage(in: scratch)
    let before = storage.statistics.bytesWritten
    storage.invalidate(matching: [])
    try await storage.flush()
    #expect(storage.statistics.bytesWritten - before < 100_000)
    try await storage.close()
  }

  /// A reader that stays keeps the log from being restarted, so that its length tells.
  @Test func bytesWrittenAreThoseThatWereAppendedToTheLog() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumEntries = 100 }
    let connection = try scratch.connection()
    try await connection.reading {
      let (size, written) = (scratch.size(of: "cache.sqlite-wal"), storage.statistics.bytesWritten)
      for round in 0..<3 {
        for number in 0..<100 {
          storage.store("\(round)-\(number)").currentValue =
            "\(round)" + Self.megabyte.prefix(9_000)
        }
        try await storage.flush()
      }
      // It evicts in turns, for which flush() does not wait.
      while await withCheckedContinuation({ continuation in
        storage.database.thread.perform { continuation.resume(returning: !$0.evictions.isEmpty) }
      }) {}
      #expect(storage.statistics.evictions >= 200)
      // Between two commits.
      let (bytes, length) = await withCheckedContinuation { continuation in
        storage.database.thread.perform { _ in
          continuation.resume(
            returning: (storage.statistics.bytesWritten, scratch.size(of: "cache.sqlite-wal")))
        }
      }
      #expect(bytes - written == length - size)
    }
    try connection.close()
    try await storage.close()
  }
}
