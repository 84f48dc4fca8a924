import Foundation
import Observation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

/// How a pack is fetched: side by side, over which network, interrupted.
extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func fourAreFetchedSideBySideAtMost(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let running = Locked((now: 0, most: 0))
    let gate = Gate()
    @Sendable func fetch() async throws -> Int {
      running.withLock { running in
        running.now += 1
        running.most = max(running.most, running.now)
      }
      defer { running.withLock { $0.now -= 1 } }
      try await gate.pass()
      return 1
    }
    let pack = try await client.keep("pack") {
      for number in 0..<50 { StoredQuery(["n", number]) { try await fetch() } }
    }
    // Of a pack of which nothing is known, one.
    await gate.arrival()
    gate.letOneThrough()
    await gate.arrival(5)
    gate.open()
    try await pack.whole()
    #expect(running.withLock { $0.most } == PackRunner.width)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func stoppingEndsFetchesAndResumingBeginsThemAnew(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let gate = Gate()
    let query = StoredQuery(["a"]) {
      try await gate.pass()
      return 1
    }
    let pack = try await client.keep("pack") { query }
    await gate.arrival()
    await client.packs.stop()
    #expect(pack.state == .idle)
    #expect(pack.progress.failed == 0 && pack.progress.done == 0)
    let waiter = Task { try await pack.whole() }
    waiter.cancel()
    await #expect(throws: CancellationError.self) { try await waiter.value }
    gate.open()
    try await client.packs.resume()
    try await pack.whole()
    #expect(query.calls.value == 2)
  }

  /// A program that prepares a trip asks whether all is there, and would leave without it.
  @Test(arguments: StorageUnderTest.allCases)
  func whatWasResetIsFetchedAgain(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let queries = (0..<3).map { number in StoredQuery(["n", number]) { number } }
    func keep(_ client: QueryClient) async throws -> OfflinePack {
      try await client.keep("pack") { for query in queries { query } }
    }
    try await device.run { client in
      let pack = try await keep(client)
      try await pack.whole()
      client.store(for: queries[1].persisted()).reset()
      let progress = try await pack.whole()
      #expect(progress.done == 3 && pack.state == .complete)
      #expect(queries.map(\.calls.value) == [1, 2, 1])
      client.store(for: queries[2].persisted()).reset()
    }
    let client = device.client()
    let progress = try await keep(client).whole()
    #expect(progress.done == 3)
    #expect(queries.map(\.calls.value) == [1, 2, 2])
    #expect(await client.store(for: queries[2].persisted()).hydratedValue() == 2)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aCancelledTaskKeepsNothing(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await client.keep("pack") { StoredQuery(["a"]) { 1 } }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await client.packs.list().isEmpty)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func pagesThatAreThereAreNotFetchedAgainAfterAnInterruption(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let gate = Gate()
    let fetched = Recorder<Int>()
    let pages = StoredPages(["pages"]) { number in
      if number == 4 { try await gate.pass() }
      fetched.append(number)
      return "page \(number)"
    }
    try await device.run { client in
      try await client.keep("pack") { pages.pages(.all) }
      await gate.arrival()
      await client.packs.stop()
    }
    gate.open()
    let client = device.client()
    try await client.keep("pack") { pages.pages(.all) }.whole()
    #expect(fetched.elements == Array(0...9))
    #expect(await client.store(for: pages.persisted()).hydratedValue() == textPages(0...9))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whoWaitsForAPackKeepsItsClient(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let gate = Gate()
    func keep() async throws -> OfflinePack {
      let client = device.client()
      // More than are fetched at a time.
      let pack = try await client.keep("pack") {
        for number in 0..<2 * PackRunner.batch {
          StoredQuery([number]) {
            try await gate.pass()
            return number
          }
        }
      }
      // What is being fetched keeps the client until the gate is open.
      await gate.arrival()
      return pack
    }
    let pack = try await keep()
    let waiter = Task { try await pack.whole() }
    while pack.status.count == 0 { await Task.yield() }
    gate.open()
    #expect(try await waiter.value.done == 2 * PackRunner.batch)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aPackWhoseClientIsGoneIsNotWaitedFor(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let network = MockNetworkObserver(initialStatus: .disconnected)
    func keep() async throws -> OfflinePack {
      let client = self.client(device, network)
      let pack = try await client.keep("pack") { StoredQuery(["a"]) { 1 } }
      #expect(await pack.updates.contains { $0.state == .waiting(.network) })
      return pack
    }
    let pack = try await keep()
    await #expect(throws: PackError.clientGone(pack: "pack")) { try await pack.whole() }
  }

  // MARK: - The network

  private func client(_ device: Device, _ network: any NetworkObserver) -> QueryClient {
    var context = device.context
    context.networkObserver = network
    return QueryClient(storage: device.storage, defaultContext: context)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func withoutANetworkItWaits(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let network = MockNetworkObserver(initialStatus: .disconnected)
    let client = self.client(device, network)
    let query = StoredQuery(["a"]) { 1 }
    let pack = try await client.keep("pack") { query }
    for await update in pack.updates where update.state == .waiting(.network) { break }
    #expect(query.calls.value == 0)
    network.send(status: .connected)
    try await pack.whole()
    #expect(query.calls.value == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatFailsAsTheNetworkGoesHasNotFailed(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let network = MockNetworkObserver()
    let client = self.client(device, network)
    let isOut = Locked(true)
    let query = StoredQuery(["a"]) {
      guard isOut.withLock({ $0 }) else { return 1 }
      network.send(status: .disconnected)
      throw TestError("no network")
    }
    let pack = try await client.keep("pack") { query }
    for await update in pack.updates where update.state == .waiting(.network) { break }
    #expect(pack.progress.failed == 0)
    isOut.withLock { $0 = false }
    network.send(status: .connected)
    try await pack.whole()
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aMeteredNetworkIsNotUsedForAPackThatCostsNothing(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let network = MockNetworkObserver()
    network.send(isMetered: true)
    let client = self.client(device, network)
    let (free, any) = (StoredQuery(["free"]) { 1 }, StoredQuery(["any"]) { 1 })
    let pack = try await client.keep("pack", network: .unmetered) { free }
    try await client.keep("other") { any }.whole()
    for await update in pack.updates where update.state == .waiting(.unmeteredNetwork) { break }
    #expect(free.calls.value == 0)
    network.send(isMetered: false)
    try await pack.whole()
    #expect(free.calls.value == 1)
    // Also in a later launch.
    try await device.relaunch()
    let found = try await device.storage.packs.packs()
    #expect(found.map(\.network) == [.any, .unmetered])
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anObserverThatKnowsNoCostsIsToldOf(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    for client in [device.client(), self.client(device, StatusOnly())] {
      await #expect(throws: PackError.networkCostUnknown(pack: "pack")) {
        try await client.keep("pack", network: .unmetered) { StoredQuery(["a"]) { 1 } }
      }
      #expect(try await client.packs.list().isEmpty)
    }
    let knowing = self.client(device, MockNetworkObserver())
    try await knowing.keep("pack", network: .unmetered) { StoredQuery(["a"]) { 1 } }.whole()
    try await device.relaunch()
    // A later launch does not fetch over it in silence.
    let later = device.client()
    let pack = try #require(try await later.packs.resume().first)
    for await update in pack.updates
    where update.state == .stopped(.networkCostUnknown(pack: "pack")) { break }
    withExtendedLifetime(later) {}
  }

  private struct StatusOnly: NetworkObserver {
    var currentStatus: NetworkConnectionStatus { .connected }

    func subscribe(
      with handler: @escaping @Sendable (NetworkConnectionStatus) -> Void
    ) -> QuerySubscription {
      .empty
    }
  }

  // MARK: - Looking

  @Test(arguments: StorageUnderTest.allCases)
  func observationTracksProgress(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let gate = Gate()
    let client = device.client()
    let pack = try await client.keep("pack") {
      StoredQuery(["a"]) {
        try await gate.pass()
        return 1
      }
    }
    await gate.arrival()
    let changes = Counter()
    let observed = withObservationTracking {
      pack.progress
    } onChange: {
      changes.increment()
    }
    #expect(observed.done == 0)
    gate.open()
    try await pack.whole()
    #expect(changes.value == 1)
    #expect(pack.progress.done == 1)
    withExtendedLifetime(client) {}
  }

  @Test func withoutAStorageNothingIsKept() async throws {
    let client = QueryClient()
    await #expect(throws: PackError.noStorage) {
      try await client.keep("pack") { StoredQuery(["a"]) { 1 } }
    }
    await #expect(throws: PackError.noStorage) { try await client.packs.list() }
    await #expect(throws: PackError.noStorage) { try await client.packs.resume() }
  }
}
