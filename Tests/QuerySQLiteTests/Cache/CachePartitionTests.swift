import Foundation
import Query
import Testing

@testable import QuerySQLite

@Suite struct CachePartitionTests {
  private static func entry(bytes: Int = 1) -> StoredEntry {
    StoredEntry(
      kind: "query", coder: "json", version: 1, content: .value(Data(count: bytes)),
      history: UpdateHistory(valueUpdateCount: 1))
  }

  private static func identity(_ name: String) -> QueryIdentity {
    QueryIdentity(canonicalText: name)
  }

  private static func partition() -> CachePartition {
    CachePartition(name: "", limits: CacheLimits(entries: 10, bytes: 10))
  }

  @Test func whatIsWrittenWhileAScanRunsIsNotKeptFromIt() {
    let partition = Self.partition()
    partition.beginPrefetching()
    partition.forgetPrefetched(Self.identity("written"))
    partition.keep(prefetched: ["written", "other"].map { (Self.identity($0), Self.entry()) })
    partition.endPrefetching()
    #expect(partition.glance(at: Self.identity("written")).prefetched == nil)
    #expect(partition.glance(at: Self.identity("other")).prefetched != nil)
    partition.beginPrefetching()
    partition.forgetPrefetched()
    partition.keep(prefetched: [(Self.identity("other"), Self.entry())])
    partition.endPrefetching()
    #expect(partition.glance(at: Self.identity("other")).prefetched == nil)
    partition.keep(prefetched: [(Self.identity("written"), Self.entry())])
    #expect(partition.glance(at: Self.identity("written")).prefetched != nil)
  }

  @Test func whatSeveralScansFindTogetherHasABound() {
    let partition = Self.partition()
    let large = Self.entry(bytes: CachePartition.maximumPrefetchedBytes / 2)
    partition.keep(prefetched: ["a", "b"].map { (Self.identity($0), large) })
    partition.keep(prefetched: [(Self.identity("c"), large)])
    #expect(partition.glance(at: Self.identity("c")).prefetched == nil)
    // Room again when one was handed out, and replacing one takes none.
    #expect(partition.glance(at: Self.identity("a")).prefetched != nil)
    partition.keep(prefetched: [(Self.identity("b"), large), (Self.identity("c"), large)])
    #expect(partition.glance(at: Self.identity("b")).prefetched != nil)
    #expect(partition.glance(at: Self.identity("c")).prefetched != nil)
  }

  @Test func ofUsesOfAnEntryTheLastCounts() {
    let partition = Self.partition()
    let used = ["a", "b"].map { Self.identity($0) }
    for identity in [used[0], used[1], used[0]] { partition.countHit(identity) }
    #expect(partition.hasUses)
    #expect(partition.takeUses() == [used[1], used[0]])
    #expect(!partition.hasUses)
  }

  /// Those that came meanwhile are recorded after them, and are not compared with them.
  @Test func usesThatWerePutBackComeFirst() {
    let partition = Self.partition()
    let used = ["a", "b", "c"].map { Self.identity($0) }
    for identity in used { partition.countHit(identity) }
    #expect(partition.takeUses() == used[...])
    partition.countHit(used[1])
    partition.putBack(uses: used[1...])
    #expect(partition.hasUses)
    #expect(partition.takeUses() == used[1...])
    #expect(partition.hasUses)
    #expect(partition.takeUses() == [used[1]])
    #expect(!partition.hasUses)
  }
}
