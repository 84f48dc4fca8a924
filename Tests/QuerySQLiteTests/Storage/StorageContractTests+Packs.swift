import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

/// What every storage promises to packs.
extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aPackIsThereInTheNextLaunchWithoutANetwork(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let pack = try await client.keep("area") {
        StoredPages(["list"]).pages(.all)
        StoredPages(["start"]).pages(.first(3))
        StoredQuery(["single"]) { 1 }
        StoredQuery(["default"]) { 2 }.defaultValue(0)
        for number in 0..<40 { StoredQuery(["n", number]) { number } }
      }
      #expect(pack.progress.total == 44)
      let whole = try await pack.whole()
      #expect(whole.done == 44 && whole.total == 44 && whole.failed == 0)
      #expect(whole.bytes > 0 && whole.fraction == 1)
      #expect(pack.state == .complete)
    }
    let client = device.client()
    let found = try #require(try await client.packs.list().first)
    #expect(found.name == "area")
    #expect(found.progress.done == 44)
    #expect(found.state == .complete)
    #expect(found.createdAt.timeIntervalSince(device.clock.now()) < 0.001)
    #expect(
      await client.store(for: StoredPages(["list"]).persisted()).hydratedValue() == textPages(0...9)
    )
    #expect(
      await client.store(for: StoredPages(["start"]).persisted()).hydratedValue()
        == textPages(0...2))
    #expect(await client.store(for: StoredQuery(["single"]) { 0 }.persisted()).hydratedValue() == 1)
    for number in 0..<40 {
      let store = client.store(for: StoredQuery(["n", number]) { -1 }.persisted())
      #expect(store.currentValue == number)
    }
  }

  /// A query whose fetch waits at a gate.
  private static func held(by gate: Gate) -> BlockQuery<Int> {
    BlockQuery(["held"]) { _ in
      try await gate.pass()
      return 1
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aPackIsFetchedFromItsBeginningOnUnlessItIsWhole(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let gate = Gate()
    let held = Self.held(by: gate)
    try await device.run { client in
      let pack = try await client.keep("pack") { held }
      #expect(pack.state == .fetching)
      gate.open()
      try await pack.whole()
    }
    let client = device.client()
    let pack = try await client.keep("pack") { held }
    #expect(pack.state == .complete)
  }

  /// Before the end of the sixteen that are claimed at once.
  @Test(arguments: StorageUnderTest.allCases)
  func progressIsSeenWhileOneMemberIsSlow(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let gate = Gate()
    let held = Self.held(by: gate)
    try await device.run { client in
      let pack = try await client.keep("pack") {
        // The first one is claimed alone, since what a member takes is not known before.
        for number in 0..<7 { StoredQuery(["n", number]) { number } }
        held
      }
      await gate.arrival()
      for await update in pack.updates where update.progress.done == 7 { break }
      #expect(pack.state == .fetching)
      #expect(try await device.storage.packs.packs().first?.counts.done == 7)
      gate.open()
      #expect(try await pack.whole().done == 8)
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aMemberUnderWayOfWhichNothingIsStoredHasNoBytes(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let gate = Gate()
    let held = Self.held(by: gate)
    try await device.run { client in
      let pack = try await client.keep("pack") { held }
      await gate.arrival()
      let packs = device.storage.packs
      let stored = try #require(try await packs.packs().first)
      let identity = try QueryIdentity(path: held.path)
      let standing = try await packs.settle(
        [PackResult(identity: identity, outcome: .underWay)], of: stored.id, at: device.clock.now())
      #expect(standing?.pack.counts.bytes == 0)
      gate.open()
      try await pack.whole()
    }
  }

  /// Another process may have ended the claim meanwhile.
  @Test(arguments: StorageUnderTest.allCases)
  func whatWasFetchedIsDoneIfItIsStoredWhoeverHasClaimedIt(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    client.store(for: StoredQuery(["stored"]) { 0 }.persisted()).currentValue = 1
    try await device.storage.flush()
    let packs = device.storage.packs
    let now = Date(timeIntervalSince1970: 1_700_000_000)
    let identities = try [["stored"], ["missing"]].map { try QueryIdentity(path: $0) }
    let pack = try await packs.keep(
      NewPack(
        name: "pack", createdAt: now, members: identities.map { NewPack.Member(identity: $0) })
    )
    var counts = try await packs.settle(
      [PackResult(identity: identities[0], outcome: .fetched)], of: pack.id, at: now)?.pack.counts
    #expect(counts?.done == 1 && counts?.waiting == 1 && counts?.failed == 0)
    #expect(counts?.oldest == now)
    #expect(try await packs.packs().map(\.failure) == [nil])
    counts = try await packs.settle(
      [PackResult(identity: identities[1], outcome: .fetched)], of: pack.id, at: now)?.pack.counts
    #expect(counts?.done == 1 && counts?.waiting == 0 && counts?.failed == 1)
    #expect(try await packs.packs().map(\.failure) == [PackResult.notStored])
  }

  /// Equal in Swift, of other bytes.
  @Test(arguments: StorageUnderTest.allCases)
  func equalNamesAreOnePack(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      try await client.keep("caf\u{e9}") { StoredQuery(["one"]) { 1 } }.whole()
      try await client.keep("cafe\u{301}") { StoredQuery(["two"]) { 2 } }.whole()
      #expect(try await client.packs.list().map(\.progress.total) == [1])
      #expect(try await client.packs.remove("cafe\u{301}"))
      #expect(try await client.packs.list().isEmpty)
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatIsThereIsNotFetchedAgainWhenTheListIsKeptAgain(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let (old, both, new) = (
      StoredQuery(["old"]) { 1 }, StoredQuery(["both"]) { 1 }, StoredQuery(["new"]) { 1 }
    )
    try await device.run { client in
      try await client.keep("pack") {
        old
        both
      }.whole()
    }
    try await device.run { client in
      let pack = try await client.keep("pack") {
        both
        new
      }
      let progress = try await pack.whole()
      #expect(progress.total == 2 && progress.done == 2)
      try await client.packs.resume()
      try await pack.whole()
      #expect(try await client.packs.list().count == 1)
    }
    #expect(old.calls.value == 1)
    #expect(both.calls.value == 1)
    #expect(new.calls.value == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aFreshValueIsNotFetchedAndAStoreOfTheClientShowsWhatIs(_ kind: StorageUnderTest) async throws
  {
    let device = try Device(kind)
    let client = device.client()
    let fresh = StoredQuery(["fresh"]) { 1 }.stale(after: 60).persisted()
    try await client.store(for: fresh).fetch()
    let shown = StoredQuery(["shown"]) { 7 }
    let store = client.store(for: shown.persisted())
    try await client.keep("pack") {
      fresh
      shown
    }.whole()
    #expect(fresh.query.query.calls.value == 1)
    #expect(store.currentValue == 7)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatFailsIsCountedAndTriedAgain(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let works = Locked(false)
    let failing = StoredQuery(["failing"]) {
      if works.withLock({ $0 }) { return 1 }
      throw TestError("not now")
    }
    let good = StoredQuery(["good"]) { 1 }
    let client = device.client()
    let pack = try await client.keep("pack") {
      failing
      good
    }
    let error = await #expect(throws: PackError.self) { try await pack.whole() }
    guard case .membersFailed("pack", members: 1, let text)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(text.contains("not now"))
    #expect(pack.failure?.contains("not now") == true)
    #expect(pack.progress.failed == 1 && pack.progress.done == 1)
    works.withLock { $0 = true }
    try await client.packs.resume()
    let progress = try await pack.whole()
    #expect(progress.done == 2 && progress.failed == 0)
    #expect(failing.calls.value == 2 && good.calls.value == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func requestsThatAreDataGoOnInALaterLaunch(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let gate = Gate()
    try await device.run { client in
      try await client.keep("pack") {
        StoredQuery(["slow"]) {
          try await gate.pass()
          return 1
        }
        for number in 0..<5 { DataQuery(number: number) }
        DataPages(name: "data").pages(.first(2))
        StoredQuery(["code"]) { 1 }
      }
      await gate.arrival()
      await client.packs.stop()
    }
    let client = device.client()
    let pack = try #require(try await client.packs.resume().first)
    await #expect(throws: PackError.notRegistered(pack: "pack", members: 8)) {
      try await pack.whole()
    }
    #expect(pack.progress.unregistered == 8)
    client.packs.register(DataQuery.self)
    client.packs.register(DataPages.self)
    try await client.packs.resume()
    await #expect(throws: PackError.notRegistered(pack: "pack", members: 2)) {
      try await pack.whole()
    }
    #expect(await client.store(for: DataQuery(number: 3).persisted()).hydratedValue() == 3)
    let pages = await client.store(for: DataPages(name: "data").persisted()).hydratedValue()
    #expect(pages.map(\.value) == ["data 0", "data 1"])
  }

  @Test(arguments: StorageUnderTest.allCases)
  func removingAPackEndsItsObject(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let gate = Gate()
    let pack = try await client.keep("pack") {
      StoredQuery(["slow"]) {
        try await gate.pass()
        return 1
      }
    }
    await gate.arrival()
    let waiter = Task { try await pack.whole() }
    #expect(try await client.packs.remove("pack"))
    #expect(try await !client.packs.remove("pack"))
    await #expect(throws: PackError.gone(pack: "pack")) { try await waiter.value }
    #expect(pack.state == .stopped(.gone(pack: "pack")))
    #expect(try await client.packs.list().isEmpty)
    // The name can be kept anew.
    gate.open()
    let again = try await client.keep("pack") { StoredQuery(["other"]) { 2 } }
    #expect(again !== pack)
    try await again.whole()
  }

  @Test(arguments: StorageUnderTest.allCases)
  func erasingTheAccountRemovesItsPacks(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let pack = try await client.keep("pack") { StoredQuery(["a"]) { 1 } }
    try await pack.whole()
    try await device.storage.erase()
    for await update in pack.updates where update.state == .stopped(.gone(pack: "pack")) { break }
    #expect(try await client.packs.list().isEmpty)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aPackOfWhichTheEndHasComeIsRemovedByResuming(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let end = device.clock.now().addingTimeInterval(60)
    try await client.keep("short", until: .date(end)) { StoredQuery(["a"]) { 1 } }.whole()
    try await client.keep("long") { StoredQuery(["a"]) { 1 } }.whole()
    #expect(try await client.packs.resume().map(\.name) == ["long", "short"])
    device.clock.advance(by: 61)
    #expect(try await client.packs.resume().map(\.name) == ["long"])
    #expect(try await client.packs.list().map(\.name) == ["long"])
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aPackIsFetchedAgainWhenItIsOld(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let values = Counter()
    let query = StoredQuery(["a"]) { values.increment() }
    let pages = StoredPages(["p"])
    let pack = try await client.keep("pack", refreshEvery: .seconds(600)) {
      query
      pages.pages(.first(2))
    }
    try await pack.whole()
    try await client.packs.resume()
    try await pack.whole()
    #expect(query.calls.value == 1 && pages.calls.value == 2)
    device.clock.advance(by: 601)
    try await client.packs.resume()
    while query.calls.value < 2 || pages.calls.value < 4 { await Task.yield() }
    try await pack.whole()
    #expect(pack.progress.done == 2)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aQueryStandsInAListOnce(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let query = StoredQuery(["a"]) { 1 }
    let pack = try await client.keep("pack") {
      query
      query
    }
    #expect(try await pack.whole().total == 1)
    let identity = try QueryIdentity(path: ["pages"])
    await #expect(throws: PackError.differingPages(pack: "pack", member: identity)) {
      try await client.keep("pack") {
        StoredPages().pages(.all)
        StoredPages().pages(.first(1))
      }
    }
    // The name has what it had.
    #expect(try await client.packs.pack(named: "pack")?.progress.total == 1)
    let empty = try await client.keep("empty") {}
    #expect(try await empty.whole().total == 0)
  }
}

/// A request that is data.
struct DataQuery: PackableRequest, Hashable {
  static let packName = "data-query"

  let number: Int

  var path: QueryPath { ["data", self.number] }

  func fetch(
    in context: QueryContext, with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    self.number
  }
}

/// An infinite query that is data.
struct DataPages: PackableRequest, InfiniteQueryRequest, Hashable {
  static let packName = "data-pages"

  let name: String

  var path: QueryPath { ["data pages", self.name] }
  var initialPageId: Int { 0 }

  func pageId(
    after page: InfiniteQueryPage<Int, String>, using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? {
    page.id + 1
  }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>, in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    "\(self.name) \(paging.pageId)"
  }
}

extension QueryStore {
  /// The value, once what is stored is there: while another read is under way, that takes its turn.
  func hydratedValue() async -> State.StateValue {
    await self.hydrated()
    return self.currentValue
  }
}
