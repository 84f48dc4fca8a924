import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// What packs do to the bounds of a storage, and the bounds to them.
@Suite(.warningsAreIssues) struct PackBoundsTests {
  private static let text = String(repeating: "x", count: 10_000)

  private static func texts(_ name: String, _ numbers: Range<Int>) -> [StoredQuery<String>] {
    numbers.map { number in StoredQuery([name, number]) { Self.text } }
  }

  /// Writes other texts until nothing that may go is left, and returns when the evictions are over.
  private static func crowd(_ storage: SQLiteQueryStorage, _ name: String) async throws {
    for start in stride(from: 0, to: 300, by: 10) {
      for number in start..<start + 10 {
        storage.store("\(name) \(number)").currentValue = Self.text
      }
      try await storage.flush()
    }
    var hasChores = true
    while hasChores {
      hasChores = await withCheckedContinuation { continuation in
        storage.database.thread.perform { continuation.resume(returning: $0.hasChores) }
      }
    }
  }

  private static func stored(_ name: String, in scratch: StorageScratch) throws -> Int {
    try scratch.rows("SELECT identity FROM entries WHERE identity LIKE '[\"\(name)\",%'").count
  }

  @Test func aPackStopsWithASentenceAndWhatItHasStays() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumBytes = 1 << 20 }
    let client = QueryClient(storage: storage)
    let limit = storage.packs.limits.bytes
    #expect(limit == (1 << 20) - (1 << 20) / 10)
    let queries = Self.texts("large", 0..<200)
    let pack = try await client.keep("large") { for query in queries { query } }
    let error = await #expect(throws: PackError.self) { try await pack.whole() }
    guard case .noRoom("large", let needed, limit)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect((1_900_000...2_300_000).contains(needed))
    #expect("\(error.map { "\($0)" } ?? "")".contains("maximumBytes"))
    let done = pack.progress.done
    #expect(pack.progress.bytes <= limit)
    #expect(pack.progress.bytes > limit - 2 * 10_100)
    #expect(queries.reduce(0) { $0 + $1.calls.value } == done)
    #expect(storage.statistics.evictions == 0)
    // Others go first.
    try await Self.crowd(storage, "other")
    #expect(try Self.stored("large", in: scratch) == done)
    #expect(storage.statistics.bytes <= 1 << 20)
    // With more room it goes on with what is missing.
    try await storage.close()
    let larger = try scratch.storage { $0.maximumBytes = 8 << 20 }
    let next = QueryClient(storage: larger)
    try await next.keep("large") { for query in queries { query } }.whole()
    #expect(queries.allSatisfy { $0.calls.value == 1 })
    try await larger.close()
  }

  @Test func aPackThatFoundNoRoomGoesOnWhenAnotherOneIsRemoved() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumBytes = 1 << 20 }
    let client = QueryClient(storage: storage)
    let (first, second) = (Self.texts("a", 0..<80), Self.texts("b", 0..<40))
    try await client.keep("first") { for query in first { query } }.whole()
    let pack = try await client.keep("second") { for query in second { query } }
    let error = await #expect(throws: PackError.self) { try await pack.whole() }
    guard case .noRoom? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    try await client.packs.remove("first")
    for await update in pack.updates where update.state == .complete { break }
    #expect(pack.progress.done == 40)
    #expect(second.allSatisfy { $0.calls.value == 1 })
    try await storage.close()
  }

  @Test func smallQueriesAreFetchedAfterALargeOne() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumBytes = 1 << 20 }
    let client = QueryClient(storage: storage)
    let large = StoredQuery(["large"]) { String(repeating: "x", count: 600_000) }
    let small = Self.texts("small", 0..<20)
    let pack = try await client.keep("pack") {
      large
      for query in small { query }
    }
    #expect(try await pack.whole().done == 21)
    try await storage.close()
  }

  @Test func whatLeavesAPackAgesLikeOthersUnlessAnotherPackHasIt() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumBytes = 1 << 20 }
    let client = QueryClient(storage: storage)
    let (a, both, b) = (Self.texts("a", 0..<5), Self.texts("both", 0..<5), Self.texts("b", 0..<5))
    try await client.keep("one") { for query in a + both { query } }.whole()
    try await client.keep("two") { for query in both + b { query } }.whole()
    try await Self.crowd(storage, "first")
    for name in ["a", "both", "b"] { #expect(try Self.stored(name, in: scratch) == 5) }
    // A list that is replaced lets go of what has left it.
    try await client.keep("one") { for query in both { query } }.whole()
    try await Self.crowd(storage, "second")
    #expect(try Self.stored("a", in: scratch) == 0)
    #expect(try Self.stored("both", in: scratch) == 5)
    try await client.packs.remove("one")
    try await Self.crowd(storage, "third")
    #expect(try Self.stored("both", in: scratch) == 5)
    #expect(try Self.stored("b", in: scratch) == 5)
    try await client.packs.remove("two")
    try await Self.crowd(storage, "fourth")
    #expect(try Self.stored("both", in: scratch) == 0)
    #expect(try Self.stored("b", in: scratch) == 0)
    try await storage.close()
  }

  @Test func aLongListOfPagesStopsAtTheBoundToo() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumBytes = 1 << 20 }
    let client = QueryClient(storage: storage)
    let fetched = Counter()
    let pages = StoredPages { _ in
      fetched.increment()
      return String(repeating: "x", count: 200_000)
    }
    let pack = try await client.keep("pages") { pages.pages(.all) }
    let error = await #expect(throws: PackError.self) { try await pack.whole() }
    guard case .noRoom? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(fetched.value == PackFetch.pagesPerStep)
    #expect(pack.progress.bytes > 1_600_000)
    try await storage.close()
  }

  /// Pages from 0 on, as many and as long as a test says.
  private struct GrowingPages: InfiniteQueryRequest {
    let list = Locked((last: 2, bytes: 100_000))
    /// Each fetch of a page, and what a test adds.
    let events = Recorder<String>()

    var path: QueryPath { ["growing"] }
    var initialPageId: Int { 0 }

    func pageId(
      after page: InfiniteQueryPage<Int, String>, using paging: InfiniteQueryPaging<Int, String>,
      in context: QueryContext
    ) -> Int? {
      self.list.withLock { page.id < $0.last } ? page.id + 1 : nil
    }

    func fetchPage(
      using paging: InfiniteQueryPaging<Int, String>, in context: QueryContext,
      with continuation: QueryContinuation<String>
    ) async throws -> String {
      self.events.append("page")
      return String(repeating: "x", count: self.list.withLock { $0.bytes })
    }
  }

  /// Keeps pages 0 to 2 of 100 000 bytes each, and returns how often pages were fetched when they have
  /// become other ones and are refreshed; 7 and more: it goes on for ever.
  private static func refresh(
    _ wanted: PackPages, of pages: GrowingPages, as last: Int, _ bytes: Int
  ) async throws -> Int {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumBytes = 1 << 20 }
    let clock = TestClock()
    var context = QueryContext()
    context.queryClock = clock
    let client = QueryClient(storage: storage, defaultContext: context)
    let pack = try await client.keep("pack", refreshEvery: .seconds(600)) { pages.pages(wanted) }
    try await pack.whole()
    pages.list.withLock { $0 = (last, bytes) }
    clock.advance(by: 601)
    let due = clock.now().addingTimeInterval(-1)
    let subscription = pack.status.subscribe(emittingFirst: false) {
      if let oldest = $0.stored.counts.oldest, oldest > due { pages.events.append("refreshed") }
    }
    try await client.packs.resume()
    let events = await pages.events.wait {
      $0.contains("refreshed") || $0.count { $0 == "page" } > 6
    }
    let count = events.count { $0 == "page" }
    if count <= 6 { try await pack.whole() }
    subscription.cancel()
    await client.packs.stop()
    try await storage.close()
    return count
  }

  @Test func aRefreshThatNeedsAllTheBytesThereAreIsMadeOnce() async throws {
    #expect(try await Self.refresh(.first(3), of: GrowingPages(), as: 2, 400_000) == 6)
  }

  @Test func aRefreshThatFindsNoRoomForMorePagesIsTriedWithTheNextOne() async throws {
    #expect(try await Self.refresh(.all, of: GrowingPages(), as: 5, 400_000) == 6)
  }

  @Test func moreQueriesThanThereMayBeAreNotKept() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumEntries = 100 }
    let client = QueryClient(storage: storage)
    let (first, second) = (Self.texts("a", 0..<60), Self.texts("b", 0..<60))
    try await client.keep("one") { for query in first { query } }.whole()
    await #expect(throws: PackError.tooManyMembers(pack: "two", members: 120, limit: 90)) {
      try await client.keep("two") { for query in second { query } }
    }
    #expect(try await client.packs.list().map(\.name) == ["one"])
    // A query in two packs counts once.
    try await client.keep("two") { for query in first { query } }.whole()
    #expect(first.allSatisfy { $0.calls.value == 2 })
    try await storage.close()
  }

  @Test func aValueThatIsTooLargeToBeStoredHasFailed() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.maximumValueBytes = 1_000 }
    let client = QueryClient(storage: storage)
    let identity = try QueryIdentity(path: ["too large for a pack", 0])
    let bytes = try JSONQueryCoder().encode(Self.text).count
    let warning = QueryWarning.valueTooLarge(identity: identity, bytes: bytes, limit: 1_000)
    try await withExpectedWarnings([warning], about: identity.text) {
      let queries = Self.texts("too large for a pack", 0..<1)
      let pack = try await client.keep("pack") { for query in queries { query } }
      await #expect(
        throws: PackError.membersFailed(pack: "pack", members: 1, first: PackResult.notStored)
      ) {
        try await pack.whole()
      }
    }
    try await storage.close()
  }

  @Test func accountsHavePacksOfTheirOwn() async throws {
    let scratch = try StorageScratch()
    let (first, second) = (try scratch.storage(partition: "a"), try scratch.storage(partition: "b"))
    let (one, other) = (QueryClient(storage: first), QueryClient(storage: second))
    try await one.keep("pack") { StoredQuery(["secret word"]) { 1 } }.whole()
    #expect(try await other.packs.list().isEmpty)
    try await other.keep("pack") { StoredQuery(["plain"]) { 2 } }.whole()
    try await first.erase()
    #expect(try await one.packs.list().isEmpty)
    #expect(try await other.packs.list().map(\.progress.done) == [1])
    #expect(try scratch.rows("SELECT count(*) FROM pack_members") == ["1"])
    try await first.close()
    try await second.close()
    #expect(try scratch.files(containing: "secret word").isEmpty)
  }
}
