import Foundation
import Testing

@testable import Query

@Suite struct StoredPackTests {
  private static func counts(
    done: Int, bytes: Int, claimed: Int = 0, failed: Int = 0, waiting: Int = 100
  ) -> StoredPack.Counts {
    var counts = StoredPack.Counts()
    (counts.done, counts.bytes, counts.claimed) = (done, bytes, claimed)
    (counts.failed, counts.waiting) = (failed, waiting)
    return counts
  }

  @Test func ofWhatIsNotKnownOneIsFetched() {
    let room = PackRoom(used: 0, limit: 1_000)
    #expect(room.allowance(16, for: Self.counts(done: 0, bytes: 0)) == 1)
    #expect(room.allowance(16, for: Self.counts(done: 0, bytes: 0, claimed: 1)) == 0)
    // What fails takes no room.
    #expect(room.allowance(16, for: Self.counts(done: 0, bytes: 0, failed: 3)) == 4)
  }

  @Test func asManyAreFetchedAsTheRoomTakes() {
    let room = PackRoom(used: 500, limit: 1_000)
    #expect(room.allowance(16, for: Self.counts(done: 10, bytes: 500)) == 10)
    #expect(room.allowance(4, for: Self.counts(done: 10, bytes: 500)) == 4)
    #expect(room.allowance(16, for: Self.counts(done: 10, bytes: 500, claimed: 8)) == 2)
    #expect(room.allowance(16, for: Self.counts(done: 10, bytes: 500, claimed: 20)) == 0)
    #expect(room.allowance(16, for: Self.counts(done: 10, bytes: 0)) == 1)
    let full = PackRoom(used: 1_000, limit: 1_000)
    #expect(full.allowance(16, for: Self.counts(done: 10, bytes: 500)) == 0)
    #expect(full.allowance(16, for: Self.counts(done: 0, bytes: 0)) == 0)
  }

  /// Or one large member would be the last for ever, since nothing would bring the average down.
  @Test func whileThereIsMuchRoomOneIsFetchedHoweverLargeTheOthersAre() {
    let room = PackRoom(used: 600, limit: 1_000)
    #expect(room.allowance(16, for: Self.counts(done: 1, bytes: 600)) == 1)
    #expect(room.allowance(16, for: Self.counts(done: 1, bytes: 600, claimed: 1)) == 0)
    #expect(room.allowance(0, for: Self.counts(done: 1, bytes: 600)) == 0)
    #expect(room.allowance(16, for: Self.counts(done: 6, bytes: 600)) == 4)
    let little = PackRoom(used: 900, limit: 1_000)
    #expect(little.allowance(16, for: Self.counts(done: 1, bytes: 900)) == 0)
    #expect(little.allowance(16, for: Self.counts(done: 9, bytes: 900)) == 1)
  }

  @Test func theNeedGoesByWhatIsThere() {
    let room = PackRoom(used: 900, limit: 1_000)
    #expect(room.need(for: Self.counts(done: 9, bytes: 900, waiting: 11)) == 2_000)
    // It is more than there is in any case, or it would not have stopped.
    #expect(room.need(for: Self.counts(done: 9, bytes: 900, waiting: 1)) == 1_001)
    #expect(room.need(for: Self.counts(done: 1, bytes: .max, waiting: 5)) == .max)
    // Either the rest alone, or what is used with it, is more than there are numbers.
    #expect(room.need(for: Self.counts(done: 1, bytes: .max - 100, waiting: 1)) == .max)
    #expect(room.need(for: Self.counts(done: 1, bytes: 1 << 62, waiting: 4)) == .max)
  }

  @Test func theNextRefreshIsThatOfTheOldest() {
    var pack = StoredPack(
      id: UUID(), name: "pack", createdAt: Date(), endsAt: nil, refreshEvery: .seconds(60),
      network: .any)
    #expect(pack.nextRefresh == nil)
    pack.counts.oldest = Date(timeIntervalSince1970: 100)
    #expect(pack.nextRefresh == Date(timeIntervalSince1970: 160))
    pack.refreshEvery = nil
    #expect(pack.nextRefresh == nil)
  }
}
