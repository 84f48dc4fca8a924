import Foundation
import Query
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct CacheChangesEvictionTests {
  private let cache: CacheScratch
  private let now = Date(timeIntervalSince1970: 1_700_000_000)

  init() throws { self.cache = try CacheScratch() }

  private static func hash(_ number: Int) -> XXH128 {
    XXH128(hashing: QueryIdentity.sample(number).text)
  }

  private func add(_ number: Int, isPinned: Bool = false, expiresIn: Double? = nil) throws {
    var entry = StoredEntry.sample(number, count: 100)
    entry.isPinned = isPinned
    entry.expiresAt = expiresIn.map { self.now.addingTimeInterval($0) }
    try self.cache.write(entry, .sample(number))
  }

  private func use(_ numbers: Int...) throws {
    try self.cache.change { try $0.recordUses(numbers.map { .sample($0) }, .rows(.max)) }
  }

  /// Evicts by transactions until there is nothing more to do.
  ///
  /// - Returns: The numbers of the entries, in the order in which they went.
  private func evict(
    toEntries entries: Int = 0,
    bytes: Int = .max,
    upTo count: Int = 2,
    keeping kept: Set<Int> = []
  ) throws -> [Int] {
    let numbers = Dictionary(
      uniqueKeysWithValues: (0..<1_000).map { (QueryIdentity.sample($0), $0) })
    let keptIdentities = Set(kept.map { QueryIdentity.sample($0) })
    var cursor = EvictionCursor()
    var removed = [Int]()
    var hasMore = true
    while hasMore {
      let before = cursor
      let eviction = try self.cache.change { changes in
        try changes.evict(
          .rows(count), limits: CacheLimits(entries: entries, bytes: bytes), now: self.now,
          from: &cursor
        ) { keptIdentities.contains($0) }
      }
      #expect(eviction.removed.count <= count)
      #expect(!eviction.hasMore || cursor != before)
      removed += eviction.removed.compactMap { numbers[$0] }
      hasMore = eviction.hasMore
    }
    return removed
  }

  @Test func expiredOnesGoFirstThenThoseWrittenOrUsedLongestAgo() throws {
    for number in 0..<6 { try self.add(number) }
    try self.add(6, expiresIn: -1)
    try self.add(7, expiresIn: -2)
    try self.add(8, expiresIn: 1)
    try self.use(4, 0)
    try self.add(9)
    try self.use(8)
    #expect(try self.evict() == [7, 6, 1, 2, 3, 5, 4, 0, 9, 8])
    #expect(try self.cache.storedTotals() == "0 0")
  }

  @Test func aUseBeforeTheLastWriteCountsForNothing() throws {
    for number in 0..<3 { try self.add(number) }
    try self.use(0)
    try self.cache.write(.sample(50), .sample(0))
    try self.use(1)
    #expect(try self.evict() == [2, 0, 1])
  }

  @Test func evictionEndsWhereBothLimitsHold() throws {
    for number in 0..<10 { try self.add(number, expiresIn: number == 9 ? -1 : nil) }
    #expect(try self.evict(toEntries: 10) == [])
    #expect(try self.evict(toEntries: 7) == [9, 0, 1])
    #expect(try self.evict(toEntries: 7, bytes: 5 * 112) == [2, 3])
    #expect(try self.evict(toEntries: 7, bytes: 5 * 112 - 1) == [4])
  }

  @Test func pinnedAndLivingOnesStay() throws {
    for number in 0..<6 {
      try self.add(number, isPinned: number == 1, expiresIn: number == 3 ? -1 : nil)
    }
    #expect(try self.evict(keeping: [0, 3]) == [2, 4, 5])
    #expect(try self.evict(keeping: [0]) == [3])
    #expect(try self.cache.identities() == [0, 1].map { QueryIdentity.sample($0).text })
  }

  @Test func livingOnesInFrontAreLookedAtOnce() throws {
    for number in 0..<200 { try self.add(number, isPinned: number < 50) }
    try self.use(160, 170)
    var cursor = EvictionCursor()
    var looks = 0
    var removed = 0
    for _ in 0..<100 {
      let eviction = try self.cache.change { changes in
        try changes.evict(
          .rows(1), limits: CacheLimits(entries: 0, bytes: 0), now: self.now, from: &cursor
        ) { identity in
          looks += 1
          return (0..<150).contains { QueryIdentity.sample($0) == identity }
        }
      }
      removed += eviction.removed.count
      if !eviction.hasMore { break }
    }
    #expect(removed == 50)
    #expect(looks == 150)
  }

  /// The candidates are read a hundred and twenty-eight at a time: a step whose time is up reads no more of them.
  @Test func aStepRemovesWhatItHasTheTimeFor() throws {
    for number in 0..<300 { try self.add(number) }
    let (limits, spent) = (CacheLimits(entries: 0, bytes: 0), StepBudget.spent)
    var cursor = EvictionCursor()
    var looks = 0
    let short = try self.cache.change { changes in
      try changes.evict(spent, limits: limits, now: self.now, from: &cursor) { _ in
        looks += 1
        return looks <= 200
      }
    }
    #expect(looks == 128 && short.removed.isEmpty && short.hasMore)
    let next = try self.cache.change { changes in
      try changes.evict(spent, limits: limits, now: self.now, from: &cursor) { _ in
        looks += 1
        return looks <= 200
      }
    }
    #expect(next.removed == [.sample(200)] && next.hasMore)
    let whole = try self.cache.change { changes in
      try changes.evict(.rows(250), limits: limits, now: self.now, from: &cursor) { _ in false }
    }
    #expect(whole.removed == (201..<300).map { .sample($0) } && !whole.hasMore)
  }

  @Test(arguments: SeededGenerator.seeds(5))
  func theOrderIsThatOfAModel(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var order = [Int]()
    for _ in 0..<300 {
      let number = Int.random(in: 0..<80, using: &generator)
      if Bool.random(using: &generator) {
        try self.cache.write(.sample(.random(in: 0..<250, using: &generator)), .sample(number))
      } else {
        guard order.contains(number) else { continue }
        try self.use(number)
      }
      // A write of the same changes nothing.
      let stored = try #require(
        try EntryRow.whole(Self.hash(number), on: self.cache.connection))
      let newest = try self.cache.tables.readPartition().revision
      guard max(stored.revision, stored.lastUse ?? 0) == newest else { continue }
      order.removeAll { $0 == number }
      order.append(number)
    }
    let count = Int.random(in: 1...20, using: &generator)
    #expect(try self.evict(upTo: count) == order)
  }
}
