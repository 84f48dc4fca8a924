import Foundation
import TestSupport
import Testing

@testable import Query

/// What a pack shows while its storage changes.
@Suite(.warningsAreIssues) struct PackCoordinatorTests {
  @Test func aReadingThatComesLateIsNotShownOverANewerOne() async throws {
    let (member, late) = (Gate(), Gate())
    let readings = Recorder<[StoredPack]>()
    let storage = ScriptedStorage(packs: { base in
      ScriptedPacks(base) {
        // One that was made while a member is claimed comes late.
        $0.didRead = { packs in
          if packs.contains(where: { $0.counts.claimed > 0 }) { try await late.pass() }
          readings.append(packs)
        }
      }
    })
    let client = QueryClient(storage: storage)
    let pack = try await client.keep("pack") {
      BlockQuery(["a"]) { (_: QueryContext) in
        try await member.pass()
        return 1
      }
    }
    await member.arrival()
    await late.arrival()
    member.open()
    #expect(try await pack.whole().done == 1)
    let shown = Recorder<Int>()
    let subscription = pack.status.subscribe(emittingFirst: true) {
      shown.append($0.stored.counts.done)
    }
    let count = readings.count
    late.open()
    // The reading that came late, and one after it, which comes when that was dealt with.
    await readings.wait(forCount: count + 2)
    #expect(Set(shown.elements) == [1])
    subscription.cancel()
  }

  // MARK: - Lists

  @TaskLocal private static var isLate = false

  /// A list of which the reading waits at a gate.
  private static func list(_ client: QueryClient) -> Task<[OfflinePack], any Error> {
    Task {
      try await Self.$isLate.withValue(true) { try await client.packs.list() }
    }
  }

  /// A storage that holds readings for ``list(_:)`` back.
  private static func storage(holding gate: Gate) -> ScriptedStorage {
    ScriptedStorage(packs: { base in
      ScriptedPacks(base) { $0.didRead = { _ in if Self.isLate { try await gate.pass() } } }
    })
  }

  @Test func aListThatComesLateIsNotShownOverANewerState() async throws {
    let (member, late) = (Gate(), Gate())
    let client = QueryClient(storage: Self.storage(holding: late))
    let pack = try await client.keep("pack") {
      BlockQuery(["a"]) { (_: QueryContext) in
        try await member.pass()
        return 1
      }
    }
    await member.arrival()
    let listing = Self.list(client)
    await late.arrival()
    member.open()
    try await pack.whole()
    let shown = Recorder<Int>()
    let subscription = pack.status.subscribe(emittingFirst: true) {
      shown.append($0.stored.counts.done)
    }
    late.open()
    #expect(try await listing.value.map { $0 === pack } == [true])
    #expect(Set(shown.elements) == [1])
    #expect(pack.state == .complete)
    subscription.cancel()
  }

  @Test func aListThatComesLateHasThePackThatWasKeptSince() async throws {
    let late = Gate()
    let client = QueryClient(storage: Self.storage(holding: late))
    func keep() async throws -> OfflinePack {
      try await client.keep("pack") { BlockQuery(["a"]) { (_: QueryContext) in 1 } }
    }
    let old = try await keep()
    let listing = Self.list(client)
    await late.arrival()
    try await old.remove()
    let new = try await keep()
    late.open()
    #expect(try await listing.value.map { $0 === new } == [true])
    #expect(old.isGone && !new.isGone)
    try await new.whole()
  }

  @Test func whatAListFindsMissingIsFetched() async throws {
    let isHeld = Locked(false)
    let storage = ScriptedStorage(packs: { base in
      ScriptedPacks(base) {
        $0.handler = { handler in { if !isHeld.withLock({ $0 }) { handler() } } }
      }
    })
    let client = QueryClient(storage: storage)
    let calls = Counter()
    let query = BlockQuery(["a"]) { (_: QueryContext) in calls.increment() }
    let pack = try await client.keep("pack") { query }
    try await pack.whole()
    // The list learns of it before the follower does.
    isHeld.withLock { $0 = true }
    client.store(for: query.persisted()).reset()
    try await storage.flush()
    #expect(try await client.packs.list().map { $0 === pack } == [true])
    try await pack.whole()
    #expect(calls.value == 2)
  }

  // MARK: - Removals

  @Test func aPackThatWasKeptForLongerMeanwhileIsNotRemovedAtItsOldEnd() async throws {
    let gate = Gate()
    let clock = TestClock()
    var context = QueryContext()
    context.queryClock = clock
    let storage = ScriptedStorage(packs: { base in
      ScriptedPacks(base) { $0.willRemove = { try await gate.pass() } }
    })
    let client = QueryClient(storage: storage, defaultContext: context)
    let query = BlockQuery(["a"]) { (_: QueryContext) in 1 }
    func keep(for seconds: TimeInterval) async throws -> OfflinePack {
      let end = clock.now().addingTimeInterval(seconds)
      return try await client.keep("area-7", until: .date(end)) { query }
    }
    let pack = try await keep(for: 60)
    try await pack.whole()
    clock.advance(by: 61)
    let resuming = Task { try await client.packs.resume() }
    await gate.arrival()
    let again = try await keep(for: 600)
    gate.open()
    #expect(try await resuming.value.map(\.name) == ["area-7"])
    #expect(again === pack)
    try await again.whole()
    #expect(try await client.packs.list().count == 1)
  }

  @Test func aRemovalEndsTheObjectOfNoPackThatWasKeptSince() async throws {
    let gate = Gate()
    let storage = ScriptedStorage(packs: { base in
      ScriptedPacks(base) { $0.didRemove = { try await gate.pass() } }
    })
    let client = QueryClient(storage: storage)
    func keep() async throws -> OfflinePack {
      try await client.keep("pack") { BlockQuery(["a"]) { (_: QueryContext) in 1 } }
    }
    let old = try await keep()
    try await old.whole()
    let removal = Task { try await client.packs.remove("pack") }
    await gate.arrival()
    let new = try await keep()
    gate.open()
    #expect(try await removal.value)
    #expect(old.state == .stopped(.gone(pack: "pack")))
    #expect(new !== old && !new.isGone)
    try await new.whole()
    // An object whose pack is gone removes no later one.
    try await old.remove()
    #expect(!new.isGone)
    #expect(try await client.packs.list().map { $0 === new } == [true])
    try await new.remove()
    #expect(new.isGone)
    #expect(try await client.packs.list().isEmpty)
  }

  // MARK: - Following

  @Test func twoFirstUsesAtOnceFollowTheStorageOnce() async throws {
    let second = Locked<(@Sendable () -> Void)?>(nil)
    let handlers = Counter()
    let storage = ScriptedStorage(packs: { base in
      ScriptedPacks(base) {
        $0.handler = { handler in
          handlers.increment()
          // The first use is about to subscribe.
          let other = second.withLock { second in
            defer { second = nil }
            return second
          }
          other?()
          return handler
        }
      }
    })
    let client = QueryClient(storage: storage)
    let coordinator = client.packs.coordinator
    second.withLock { second in
      second = { [weak coordinator] in coordinator?.follow(storage) }
    }
    let pack = try await client.keep("pack") {
      BlockQuery(["a"]) { (_: QueryContext) in 1 }
    }
    try await pack.whole()
    #expect(handlers.value == 2)
    // As another process removes it: only who follows the storage learns of it.
    _ = try await storage.packs.remove("pack")
    for await update in pack.updates where update.state == .stopped(.gone(pack: "pack")) { break }
  }

  /// Its runner is at its end again before `resume()` returns, or is not.
  @Test func aPackThatIsResumedAgainAndAgainIsWholeEachTime() async throws {
    let client = QueryClient(storage: MemoryQueryStorage())
    let pack = try await client.keep("pack") {
      BlockQuery(["a"]) { (_: QueryContext) in 1 }
    }
    for _ in 0..<1_000 {
      try await pack.whole()
      try await client.packs.resume()
    }
    #expect(try await pack.whole().done == 1)
  }
}
