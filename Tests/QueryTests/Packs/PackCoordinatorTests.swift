import Foundation
import TestSupport
import Testing

@testable import Query

/// What a pack shows while its storage changes.
@Suite(.warningsAreIssues) struct PackCoordinatorTests {
  /// Packs of which one reading, made while a member is claimed, comes late.
  private struct LatePacks: PackStorage {
    let base: any PackStorage
    let gate: Gate
    /// The readings that were handed out.
    let readings: Recorder<[StoredPack]>

    var limits: PackLimits { self.base.limits }

    func packs() async throws -> [StoredPack] {
      let packs = try await self.base.packs()
      if packs.contains(where: { $0.counts.claimed > 0 }) { try await self.gate.pass() }
      self.readings.append(packs)
      return packs
    }

    func keep(_ pack: NewPack) async throws -> StoredPack { try await self.base.keep(pack) }

    func remove(_ name: String) async throws -> Bool { try await self.base.remove(name) }

    func renew(_ id: UUID) async throws -> StoredPack? { try await self.base.renew(id) }

    func claim(_ request: PackClaimRequest) async throws -> PackClaim? {
      try await self.base.claim(request)
    }

    func settle(_ results: [PackResult], of id: UUID, at now: Date) async throws -> PackStanding? {
      try await self.base.settle(results, of: id, at: now)
    }

    func subscribe(_ onChange: @escaping @Sendable () -> Void) -> QuerySubscription {
      self.base.subscribe(onChange)
    }
  }

  @Test func aReadingThatComesLateIsNotShownOverANewerOne() async throws {
    let (member, late) = (Gate(), Gate())
    let readings = Recorder<[StoredPack]>()
    let storage = ScriptedStorage(packs: {
      LatePacks(base: $0, gate: late, readings: readings)
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
}
