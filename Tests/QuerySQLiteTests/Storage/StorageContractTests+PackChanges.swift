import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

/// Packs that change while they are fetched.
extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aListThatIsKeptWithMorePagesMeanwhileHasThem(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let gate = Gate()
    let pages = StoredPages { number in
      if number == 1 { try await gate.pass() }
      return "page \(number)"
    }
    try await client.keep("pack") { pages.pages(.first(2)) }
    await gate.arrival()
    let pack = try await client.keep("pack") { pages.pages(.first(5)) }
    gate.open()
    try await pack.whole()
    #expect(await client.store(for: pages.persisted()).hydratedValue() == textPages(0...4))
    #expect(pages.calls.value == 5)
  }

  /// As by another process, which has the code of the list that it keeps.
  @Test(arguments: StorageUnderTest.allCases)
  func whoHasTheCodeOfAnOlderListFetchesThePagesOfTheNewerOne(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let client = device.client()
    let pages = StoredPages()
    let pack = try await client.keep("pack") { pages.pages(.first(2)) }
    try await pack.whole()
    let other = self.client(of: device, over: MockNetworkObserver(initialStatus: .disconnected))
    try await other.keep("pack") { pages.pages(.first(5)) }
    try await pack.whole()
    #expect(await client.store(for: pages.persisted()).hydratedValue() == textPages(0...4))
    withExtendedLifetime(other) {}
  }

  @Test(
    arguments: StorageUnderTest.allCases,
    [PackResult.Outcome.fetched, .failed("late"), .unregistered])
  func aResultSaysNothingOfOtherPagesThanWereClaimed(
    _ kind: StorageUnderTest, _ outcome: PackResult.Outcome
  ) async throws {
    let device = try Device(kind)
    let client = device.client()
    let pages = StoredPages()
    try await client.store(for: pages.persisted()).fetchNextPage()
    try await device.storage.flush()
    let (packs, now) = (device.storage.packs, device.clock.now())
    var list = NewPack(
      name: "pack", createdAt: now,
      members: [NewPack.Member(identity: try QueryIdentity(path: pages.path), pages: .first(2))])
    let id = try await packs.keep(list).id
    let request = PackClaimRequest(id: id, count: 1, now: now)
    let claimed = try #require(try await packs.claim(request)?.members.first)
    list.members[0].pages = .first(5)
    _ = try await packs.keep(list)
    let standing = try await packs.settle([PackResult(of: claimed, outcome)], of: id, at: now)
    #expect(standing?.pack.counts.waiting == 1 && standing?.pack.counts.claimed == 0)
    #expect(standing?.pack.counts.bytes == 0 && standing?.room.used == 0)
    let again = try #require(try await packs.claim(request)?.members.first)
    #expect(again.pages == .first(5))
    let end = try await packs.settle([PackResult(of: again, outcome)], of: id, at: now)
    #expect(end?.pack.counts.waiting == 0 && end?.pack.counts.claimed == 0)
  }

  // MARK: - Removals

  @Test(arguments: StorageUnderTest.allCases)
  func aPackIsRemovedByItsIdIfItsEndHasCome(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let packs = device.storage.packs
    let end = Date(timeIntervalSince1970: 1_700_000_000)
    func keep(until end: Date?) async throws -> UUID {
      try await packs.keep(NewPack(name: "pack", createdAt: end ?? .now, endsAt: end, members: []))
        .id
    }
    var id = try await keep(until: end)
    #expect(try await !packs.remove(UUID(), ifEndedBy: nil))
    #expect(try await !packs.remove(id, ifEndedBy: end.addingTimeInterval(-1)))
    #expect(try await packs.packs().map(\.id) == [id])
    #expect(try await packs.remove(id, ifEndedBy: end))
    #expect(try await packs.packs().isEmpty)
    #expect(try await !packs.remove(id, ifEndedBy: nil))
    id = try await keep(until: nil)
    #expect(try await !packs.remove(id, ifEndedBy: end))
    #expect(try await packs.remove(id, ifEndedBy: nil))
    #expect(try await packs.packs().isEmpty)
  }

  // MARK: - What is in the way

  /// As one that reads another storage, which cannot be read now.
  @Test(arguments: StorageUnderTest.allCases)
  func afterAFetchThatAStorageHasFailedItPauses(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let error = StorageError(operation: "read", code: .full, message: "of another storage")
    let isFailing = Locked(true)
    let query = StoredQuery(["a"]) {
      if isFailing.withLock({ isFailing in
        defer { isFailing = false }
        return isFailing
      }) {
        throw error
      }
      return 1
    }
    let pack = try await client.keep("pack") { query }
    let states = Recorder<PackState>()
    let subscription = pack.status.subscribe(emittingFirst: true) { states.append($0.state) }
    let found = await states.wait {
      $0.contains(.waiting(.storage(error))) || $0.contains(.complete)
    }
    #expect(found.contains(.waiting(.storage(error))))
    try await client.packs.resume()
    try await pack.whole()
    #expect(query.calls.value == 2)
    subscription.cancel()
  }

  /// An old store is not written any more.
  @Test(arguments: StorageUnderTest.allCases)
  func afterAnErasureAPackIsFetchedAlthoughOldStoresLive(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let (query, pages) = (StoredQuery(["a"]) { 1 }, StoredPages())
    let store = client.store(for: query.persisted())
    let list = client.store(for: pages.persisted())
    func keep() async throws -> OfflinePack {
      try await client.keep("pack") {
        query
        pages.pages(.first(2))
      }
    }
    try await keep().whole()
    try await device.storage.erase()
    #expect(try await keep().whole().done == 2)
    #expect(query.calls.value == 2 && pages.calls.value == 4)
    withExtendedLifetime((store, list)) {}
    try await device.relaunch()
    let next = device.client()
    #expect(await next.store(for: query.persisted()).hydratedValue() == 1)
    #expect(await next.store(for: pages.persisted()).hydratedValue() == textPages(0...1))
  }

  /// Or the member would have failed, and would be fetched again by resuming alone.
  @Test(arguments: StorageUnderTest.allCases)
  func aMissingValueIsReleasedIfTheResultSaysSo(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let (packs, now) = (device.storage.packs, device.clock.now())
    let identity = try QueryIdentity(path: ["missing"])
    let id = try await packs.keep(
      NewPack(name: "pack", createdAt: now, members: [NewPack.Member(identity: identity)])
    ).id
    let request = PackClaimRequest(id: id, count: 1, now: now)
    let member = try #require(try await packs.claim(request)?.members.first)
    var result = PackResult(of: member, .fetched)
    result.isReleasedIfMissing = true
    let standing = try await packs.settle([result], of: id, at: now)
    #expect(standing?.missing == [identity])
    #expect(standing?.pack.counts.waiting == 1 && standing?.pack.counts.claimed == 0)
    #expect(standing?.pack.counts.bytes == 0 && standing?.room.used == 0)
    #expect(try await packs.claim(request)?.members.map(\.identity) == [identity])
    result.isReleasedIfMissing = false
    let end = try await packs.settle([result], of: id, at: now)
    #expect(end?.missing == [] && end?.pack.counts.failed == 1)
  }

  private func client(of device: Device, over network: MockNetworkObserver) -> QueryClient {
    var context = device.context
    context.networkObserver = network
    return QueryClient(storage: device.storage, defaultContext: context)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func betweenPagesItLooksWhetherTheNetworkIsMetered(_ kind: StorageUnderTest) async throws {
    let network = MockNetworkObserver()
    let client = try self.client(of: Device(kind), over: network)
    let gate = Gate()
    let fetched = Recorder<Int>()
    let pages = StoredPages { number in
      if number == 1 { try await gate.pass() }
      fetched.append(number)
      return "page \(number)"
    }
    // Of a pack of which nothing is known, one is claimed: the rest would be, if this went on.
    let single = StoredQuery(["single"]) { 1 }
    let pack = try await client.keep("pack", network: .unmetered) {
      pages.pages(.all)
      single
    }
    await gate.arrival()
    network.send(isMetered: true)
    gate.open()
    for await update in pack.updates where update.state == .waiting(.unmeteredNetwork) { break }
    #expect(fetched.elements == [0, 1])
    network.send(isMetered: false)
    try await pack.whole()
    #expect(fetched.elements == Array(0...9))
    #expect(single.calls.value == 1)
  }

  /// Those that were claimed together, and wait for others of them.
  @Test(arguments: StorageUnderTest.allCases)
  func noQueryIsBegunOverAMeteredNetwork(_ kind: StorageUnderTest) async throws {
    let network = MockNetworkObserver()
    let client = try self.client(of: Device(kind), over: network)
    let gate = Gate()
    let queries = (0..<13).map { number in
      StoredQuery(["n", number]) {
        if number > 0 { try await gate.pass() }
        return number
      }
    }
    let pack = try await client.keep("pack", network: .unmetered) {
      for query in queries { query }
    }
    await gate.arrival(PackRunner.width)
    network.send(isMetered: true)
    gate.open()
    for await update in pack.updates where update.state == .waiting(.unmeteredNetwork) { break }
    #expect(queries.reduce(0) { $0 + $1.calls.value } == 1 + PackRunner.width)
    network.send(isMetered: false)
    try await pack.whole()
    #expect(queries.allSatisfy { $0.calls.value == 1 })
  }
}
