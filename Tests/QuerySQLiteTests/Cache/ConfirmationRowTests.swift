import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query
@testable import QuerySQLite

@Suite struct ConfirmationRowTests {
  private let cache: CacheScratch

  init() throws {
    self.cache = try CacheScratch()
    for number in 0..<5 { try self.cache.write(.sample(number), .sample(number)) }
  }

  /// The entry of a number as it was confirmed some seconds after its first writing.
  private static func confirmed(_ number: Int, after seconds: Int = 60) -> StoredEntry {
    var entry = StoredEntry.sample(number)
    entry.history.valueLastUpdatedAt = Date(
      timeIntervalSince1970: 1_700_000_000 + Double(seconds))
    entry.history.valueUpdateCount = 2
    entry.freshFor = .seconds(30)
    return entry
  }

  private func confirm(_ number: Int, after seconds: Int = 60) throws {
    try self.cache.write(Self.confirmed(number, after: seconds), .sample(number))
  }

  private func count() throws -> Int {
    try self.cache.connection.rowsOfText("SELECT entry FROM confirmations").count
  }

  private func revision() throws -> Int64 { try self.cache.tables.readPartition().revision }

  // MARK: - What it costs

  @Test func aConfirmationIsOneFrame() throws {
    for number in 0..<5 {
      #expect(try self.cache.frames { try self.confirm(number) } == 1)
      #expect(try self.cache.frames { try self.confirm(number, after: 120) } == 1)
    }
    #expect(try self.count() == 5)
  }

  @Test func aHundredInACommitAreAFewFrames() throws {
    for number in 5..<100 { try self.cache.write(.sample(number), .sample(number)) }
    for seconds in [60, 120] {
      let frames = try self.cache.frames {
        try self.cache.change { changes in
          for number in 0..<100 {
            try changes.write(Self.confirmed(number, after: seconds), identity: .sample(number))
          }
        }
      }
      // 200 bytes each.
      #expect(frames <= 4)
    }
  }

  // MARK: - What it means

  @Test func itIsReadWithTheEntry() throws {
    try self.confirm(3)
    #expect(try self.cache.entry(.sample(3)) == Self.confirmed(3))
    #expect(try self.revision() == 6)
    guard case .entry(let entry) = try self.cache.tables.read(.sample(3)) else {
      Issue.record("no entry")
      return
    }
    #expect(entry.revision == 6)
    #expect(try self.cache.entry(.sample(2)) == .sample(2))
    #expect(
      try self.cache.write(Self.confirmed(3), .sample(3)) == .unchanged, "it is there already")
    #expect(try self.cache.tables.readPartition().totals.entries == 5)
  }

  @Test func othersAreToldInTheOrderOfWriting() throws {
    let before = try self.revision()
    try self.confirm(3)
    try self.cache.write(.sample(9), .sample(1))
    try self.confirm(2)
    try self.confirm(3, after: 120)
    let changes = try self.cache.tables.changes(after: before)
    #expect(changes.map(\.identity) == [.sample(1), .sample(2), .sample(3)])
    #expect(changes.map(\.revision) == [7, 8, 9])
  }

  /// The table has no place for one without a date.
  @Test func whatHasNoDateIsWrittenWithTheEntry() throws {
    try self.confirm(3)
    var entry = Self.confirmed(3)
    entry.history.valueLastUpdatedAt = nil
    #expect(try self.cache.write(entry, .sample(3)) != .unchanged)
    #expect(try self.cache.entry(.sample(3)) == entry)
    #expect(try self.revision() == 7)
    entry.freshFor = .seconds(90)
    try self.cache.write(entry, .sample(3))
    #expect(try self.cache.entry(.sample(3)) == entry)
    #expect(try self.cache.tables.changes(after: 7).map(\.identity) == [.sample(3)])
    try self.confirm(3, after: 180)
    #expect(try self.cache.entry(.sample(3)) == Self.confirmed(3, after: 180))
  }

  @Test func anotherValueTakesItsPlace() throws {
    try self.confirm(3)
    try self.cache.write(.sample(9), .sample(3))
    #expect(try self.cache.entry(.sample(3)) == .sample(9))
    #expect(try self.cache.tables.changes(after: 6).map(\.identity) == [.sample(3)])
    var again = Self.confirmed(9, after: 180)
    again.history.valueUpdateCount = 3
    try self.cache.write(again, .sample(3))
    #expect(try self.cache.entry(.sample(3)) == again)
  }

  @Test func anInvalidationKeepsIt() throws {
    try self.confirm(3)
    try self.cache.change { changes in
      _ = try changes.invalidate(
        from: IdentityCursor(try IdentityPrefix(path: ["sample"])), at: 9, .rows(.max))
    }
    let entry = try #require(try self.cache.entry(.sample(3)))
    #expect(entry.history.isInvalidated)
    #expect(entry.history.valueLastUpdatedAt == Self.confirmed(3).history.valueLastUpdatedAt)
    #expect(entry.history.valueUpdateCount == 2)
    #expect(entry.freshFor == .seconds(30))
  }

  @Test func anErrorBesideItKeepsIt() throws {
    try self.confirm(3)
    var entry = Self.confirmed(3, after: 60)
    entry.history.error = RestoredError(typeName: "E", text: "it failed")
    entry.history.errorUpdateCount = 1
    entry.history.errorLastUpdatedAt = Date(timeIntervalSince1970: 1_700_000_090)
    let mark = try #require(PreparedEntry(entry, identity: .sample(3)).mark)
    let note = try #require(
      PreparedConfirmation(
        StoredConfirmation(entry: entry, content: mark, hasValue: true, keepsOtherValue: true),
        identity: .sample(3)))
    #expect(try self.cache.change { try $0.confirm(note) } == .written)
    #expect(try self.cache.entry(.sample(3)) == entry)
  }

  // MARK: - What is written into the entry's row

  @Test(
    arguments: [
      { $0.metadata = Data("etag".utf8) }, { $0.isPinned = true }, { $0.outboxSequence = 7 },
      { $0.expiresAt = Date(timeIntervalSince1970: 1_800_000_000) },
      { $0.history.errorUpdateCount = 1 },
    ] as [@Sendable (inout StoredEntry) -> Void])
  func whateverElseChangesIsWrittenIntoTheRow(_ edit: @Sendable (inout StoredEntry) -> Void) throws
  {
    var entry = Self.confirmed(3)
    edit(&entry)
    try self.cache.write(entry, .sample(3))
    #expect(try self.count() == 0)
    #expect(try self.cache.entry(.sample(3)) == entry)
  }

  @Test func whatFindsNoPlaceIsWrittenIntoTheRow() throws {
    for number in 5..<510 { try self.cache.write(.sample(number), .sample(number)) }
    for number in 0..<510 { try self.confirm(number) }
    #expect(try self.count() == ConfirmationRow.limit)
    for number in 0..<510 {
      #expect(try self.cache.entry(.sample(number)) == Self.confirmed(number))
    }
    #expect(try self.cache.tables.changes(after: 510).count == 510)
  }

  // MARK: - Its end

  @Test func itGoesWithItsEntry() throws {
    try self.confirm(3)
    try self.confirm(4)
    #expect(try self.cache.change { try $0.remove(.sample(3)) })
    #expect(try self.count() == 1)
    try self.cache.write(.sample(3), .sample(3))
    #expect(try self.cache.entry(.sample(3)) == .sample(3))
  }

  @Test func eraseLeavesNone() throws {
    try self.confirm(3)
    let other = try CacheTables(partitionNamed: "other", on: self.cache.connection)
    try self.cache.connection.write {
      var changes = try other.begin()
      try changes.write(.sample(1), identity: .sample(1))
      try changes.write(Self.confirmed(1), identity: .sample(1))
      _ = try changes.finish()
    }
    let erased = try self.cache.connection.write { try self.cache.tables.beginErasing() }
    try erased.finishErasing()
    #expect(try self.count() == 1)
    #expect(try other.changes(after: 1).map(\.revision) == [2])
    #expect(try erased.changes(after: 0).isEmpty)
  }

  // MARK: - What cannot be read

  @Test func anUnreadableEntryThatWasConfirmedIsQuarantined() throws {
    try self.confirm(3)
    guard case .entry(let entry) = try self.cache.tables.read(.sample(3)) else {
      Issue.record("no entry")
      return
    }
    // As another process may do before it is.
    try self.confirm(3, after: 120)
    #expect(try self.quarantine(3, entry.revision))
    #expect(try self.cache.tables.read(.sample(3)) == .absent)
    #expect(try self.count() == 0)
  }

  @Test func whatWasWrittenAgainAfterAConfirmationStays() throws {
    try self.confirm(3)
    try self.cache.write(.sample(9), .sample(3))
    #expect(!(try self.quarantine(3, 6)))
    #expect(try self.cache.entry(.sample(3)) == .sample(9))
  }

  private func quarantine(_ number: Int, _ revision: Int64) throws -> Bool {
    try self.cache.change {
      try $0.quarantine(.sample(number), revision: revision, .undecodable("x"), now: Date())
    }
  }

  // MARK: - Eviction

  private func evict(to entries: Int) throws -> [QueryIdentity] {
    var (cursor, removed, hasMore) = (EvictionCursor(), [QueryIdentity](), true)
    while hasMore {
      let eviction = try self.cache.change { changes in
        try changes.evict(
          .rows(2), limits: CacheLimits(entries: entries, bytes: .max), now: Date(),
          from: &cursor, keeping: { _ in false })
      }
      removed += eviction.removed
      hasMore = eviction.hasMore
    }
    return removed
  }

  @Test func whatIsConfirmedIsNotAmongThoseUsedLongestAgo() throws {
    try self.confirm(1)
    try self.confirm(0)
    #expect(try self.evict(to: 3) == [.sample(2), .sample(3)])
    #expect(try self.evict(to: 1) == [.sample(4), .sample(1)])
  }

  @Test func whereAllAreConfirmedTheLimitHoldsAllTheSame() throws {
    for number in [3, 1, 0, 4, 2] { try self.confirm(number) }
    #expect(try self.evict(to: 2) == [.sample(3), .sample(1), .sample(0)])
    #expect(try self.cache.entry(.sample(4)) == Self.confirmed(4))
  }

  // MARK: - All of it

  /// What a walk knows of an entry.
  private struct Known {
    var entry: StoredEntry
    /// The number of its last change, be it a confirmation.
    var revision: Int64
  }

  /// Writes, confirmations, errors, invalidations, removals and evictions in any order: entries, what others
  /// are told, totals and the order of eviction are those of a dictionary.
  @Test(arguments: SeededGenerator.seeds(8))
  func aWalkFindsWhatADictionaryHas(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var known = [Int: Known]()
    for number in 0..<5 {
      known[number] = Known(entry: .sample(number), revision: Int64(number + 1))
    }
    for step in 1...300 {
      let number = Int.random(in: 0..<12, using: &generator)
      let date = Date(timeIntervalSince1970: 1_700_000_000 + Double(step))
      var entry = known[number]?.entry ?? .sample(0)
      switch Int.random(in: 0..<10, using: &generator) {
      case 0, 1:
        entry = .sample(step)
        entry.history.valueLastUpdatedAt = date
        try self.write(entry, number, &known)
      case 2, 3, 4, 5:
        guard known[number] != nil else { continue }
        entry.history.valueLastUpdatedAt = date
        entry.history.valueUpdateCount += 1
        entry.history.isInvalidated = false
        entry.history.invalidatedAt = nil
        entry.history.error = nil
        entry.freshFor = Bool.random(using: &generator) ? .seconds(step) : nil
        try self.write(entry, number, &known)
      case 6:
        guard known[number] != nil else { continue }
        entry.history.error = RestoredError(typeName: "E", text: "failed \(step)")
        entry.history.errorUpdateCount += 1
        entry.history.errorLastUpdatedAt = date
        try self.write(entry, number, &known)
      case 7:
        let before = try self.revision()
        try self.cache.change { changes in
          _ = try changes.invalidate(
            from: IdentityCursor(try IdentityPrefix(path: ["sample"])), at: Int64(step),
            .rows(.max))
        }
        let changes = try self.cache.tables.changes(after: before)
        #expect(changes.count == known.count, "seed \(seed), step \(step)")
        for change in changes {
          let number = try #require(known.keys.first { .sample($0) == change.identity })
          known[number]?.revision = change.revision
          known[number]?.entry.history.isInvalidated = true
          known[number]?.entry.history.invalidatedAt = .init(microsecondsSinceBoot: Int64(step))
        }
      case 8:
        #expect(
          try self.cache.change { try $0.remove(.sample(number)) } == (known[number] != nil))
        known[number] = nil
      default:
        guard known.count > 6 else { continue }
        let left = Int.random(in: 4..<known.count, using: &generator)
        let oldest = known.sorted { $0.value.revision < $1.value.revision }
          .prefix(known.count - left).map(\.key)
        #expect(
          try self.evict(to: left) == oldest.map { .sample($0) }, "seed \(seed), step \(step)")
        for number in oldest { known[number] = nil }
      }
      try self.compare(known, since: Int64.random(in: 0...(try self.revision()), using: &generator))
    }
  }

  private func write(_ entry: StoredEntry, _ number: Int, _ known: inout [Int: Known]) throws {
    try self.cache.write(entry, .sample(number))
    known[number] = Known(entry: entry, revision: try self.revision())
  }

  private func compare(_ known: [Int: Known], since revision: Int64) throws {
    for number in 0..<12 {
      #expect(try self.cache.entry(.sample(number)) == known[number]?.entry)
    }
    let changes = try self.cache.tables.changes(after: revision)
    let expected = known.filter { $0.value.revision > revision }
      .sorted { $0.value.revision < $1.value.revision }
    #expect(changes.map(\.identity) == expected.map { .sample($0.key) })
    #expect(changes.map(\.revision) == expected.map(\.value.revision))
    #expect(try self.cache.tables.readPartition().totals.entries == known.count)
  }
}
