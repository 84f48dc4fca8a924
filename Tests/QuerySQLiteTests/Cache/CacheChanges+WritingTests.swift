import Foundation
import TestSupport
import Testing

@testable import Query
@testable import QuerySQLite

@Suite struct CacheChangesWritingTests {
  private let cache: CacheScratch

  init() throws { self.cache = try CacheScratch() }

  // MARK: - Outcomes

  /// By a write, a confirmation, a note or a removal.
  @Test func whatANewerReleaseHasWrittenStays() throws {
    var newer = StoredEntry.sample(1)
    newer.version = 2
    try self.cache.write(newer, .sample(1))
    let frames = try self.cache.frames {
      #expect(try self.cache.write(.sample(2), .sample(1)) == .newerKept(version: 2))
      for keepsOtherValue in [false, true] {
        var entry = StoredEntry.sample(1)
        entry.history.invalidatedAt = .now
        entry.history.isInvalidated = true
        let mark = try #require(PreparedEntry(entry, identity: .sample(1)).mark)
        #expect(
          try self.confirm(entry, mark, keepsOtherValue: keepsOtherValue) == .newerKept(version: 2))
      }
      #expect(
        try self.cache.change { try $0.remove(.sample(1), upToVersion: 1) }
          == .newerKept(version: 2))
    }
    #expect(frames == 0)
    #expect(try self.cache.entry(.sample(1)) == newer)
    #expect(try self.cache.change { try $0.remove(.sample(1), upToVersion: 2) } == .removed)
  }

  @Test func onlyWhatIsDifferentIsWritten() throws {
    let bytes = 1_024 + 12
    #expect(
      try self.cache.write(.sample(1), .sample(1)) == .inserted(revision: 1, bytes: bytes))
    let frames = try self.cache.frames {
      let outcome = try self.cache.write(.sample(1), .sample(1))
      #expect(outcome == .unchanged)
    }
    #expect(frames == 0)
    #expect(
      try self.cache.write(.sample(2, count: 1_000), .sample(1))
        == .updated(revision: 2, bytes: -24))
    #expect(try self.cache.storedTotals() == "1 \(bytes - 24)")
    #expect(try self.cache.entry(.sample(1)) == .sample(2, count: 1_000))
  }

  @Test func everyPartOfTheStateIsADifference() throws {
    var entry = StoredEntry.sample(1)
    try self.cache.write(entry, .sample(1))
    let changes: [(inout StoredEntry) -> Void] = [
      { $0.history.valueUpdateCount = 2 }, { $0.history.valueLastUpdatedAt = nil },
      { $0.history.error = RestoredError(typeName: "T", text: "a") },
      { $0.history.error = RestoredError(typeName: "T", text: "b") },
      { $0.history.errorUpdateCount = 1 }, { $0.history.errorLastUpdatedAt = .distantFuture },
      { $0.history.isInvalidated = true }, { $0.isPinned = true }, { $0.expiresAt = .distantPast },
      { $0.version = 2 }, { $0.coder = "x" }, { $0.kind = "y" }, { $0.content = .none },
    ]
    for change in changes {
      change(&entry)
      guard case .updated = try self.cache.write(entry, .sample(1)) else {
        Issue.record("\(entry) is taken for unchanged")
        continue
      }
      #expect(try self.cache.entry(.sample(1)) == entry)
      #expect(try self.cache.write(entry, .sample(1)) == .unchanged)
      #expect(try self.cache.storedTotals() == (try self.cache.countedTotals()))
    }
  }

  private static func invalidation(at instant: ContinuousClock.Instant) -> LastInvalidation {
    LastInvalidation(microseconds: instant.microsecondsSinceBoot)
  }

  private func confirm(
    _ entry: StoredEntry, _ mark: StoredContentMark, keepsOtherValue: Bool = false
  ) throws -> PreparedConfirmation.Outcome {
    let confirmation = try #require(
      PreparedConfirmation(
        StoredConfirmation(
          entry: entry, content: mark, hasValue: true, keepsOtherValue: keepsOtherValue),
        identity: .sample(1)))
    return try self.cache.change { try $0.confirm(confirmation) }
  }

  /// The value of a fetch, or one that was set by hand, where a stored one answers a later invalidation.
  @Test(arguments: [false, true])
  func aFetchedValueReplacesNoNewerAnswer(_ isFetched: Bool) throws {
    let now = ContinuousClock.now
    var stored = StoredEntry.sample(1)
    stored.history.invalidatedAt = now
    try self.cache.write(stored, .sample(1))
    var entry = StoredEntry.sample(2)
    entry.isFetched = isFetched
    entry.invalidationsKnownUntil = now - .seconds(1)
    let outcome = try self.cache.write(entry, .sample(1))
    #expect((outcome == .otherKept) == isFetched)
    #expect(try self.cache.entry(.sample(1)) == (isFetched ? stored : entry))
    let answered = Self.invalidation(at: now).answered
    #expect(try self.cache.entry(.sample(1))?.history.lastInvalidation == answered)
    // What was invalidated after that is, whichever stays.
    entry.history.lastInvalidation = Self.invalidation(at: now + .microseconds(1))
    #expect((try self.cache.write(entry, .sample(1)) == .otherKept) == isFetched)
    var last = isFetched ? stored : entry
    last.history.isInvalidated = true
    #expect(try self.cache.entry(.sample(1)) == last)
  }

  /// What was read with it is known, whatever the clock says.
  @Test func aFetchedValueThatWasMadeOfTheAnswerReplacesIt() throws {
    let now = ContinuousClock.now
    var entry = StoredEntry.sample(1)
    entry.history.invalidatedAt = now
    try self.cache.write(entry, .sample(1))
    var next = StoredEntry.sample(2)
    next.isFetched = true
    next.invalidationsKnownUntil = now - .seconds(1)
    next.history.invalidatedAt = try self.cache.entry(.sample(1))?.history.invalidatedAt
    try self.cache.write(next, .sample(1))
    #expect(try self.cache.entry(.sample(1)) == next)
  }

  /// Of the same value, or of another one.
  @Test(arguments: [1, 2])
  func aConfirmationIsOlderThanANewerAnswer(_ number: Int) throws {
    let now = ContinuousClock.now
    var stored = StoredEntry.sample(1)
    stored.history.invalidatedAt = now
    try self.cache.write(stored, .sample(1))
    var entry = StoredEntry.sample(number)
    entry.isFetched = true
    entry.history.valueUpdateCount = 5
    entry.invalidationsKnownUntil = now - .seconds(1)
    let mark = try #require(PreparedEntry(entry, identity: .sample(1)).mark)
    #expect(try self.confirm(entry, mark) == .otherKept)
    #expect(try self.cache.entry(.sample(1)) == stored)
    // What was invalidated after that is, whichever stays.
    entry.history.lastInvalidation = Self.invalidation(at: now + .microseconds(1))
    #expect(try self.confirm(entry, mark) == .otherKept)
    #expect(try self.cache.entry(.sample(1))?.history.isInvalidated == true)
    #expect(try self.cache.entry(.sample(1))?.history.valueUpdateCount == 1)
  }

  /// A note of an invalidation that the stored value answers.
  @Test(arguments: [1, 2])
  func aNoteInvalidatesNoNewerAnswer(_ number: Int) throws {
    let now = ContinuousClock.now
    var stored = StoredEntry.sample(1)
    stored.history.invalidatedAt = now
    try self.cache.write(stored, .sample(1))
    var entry = StoredEntry.sample(number)
    let mark = try #require(PreparedEntry(entry, identity: .sample(1)).mark)
    for (offset, isInvalidated) in [(-1, false), (0, false), (1, true)] {
      entry.history.lastInvalidation = Self.invalidation(at: now + .microseconds(offset))
      _ = try self.confirm(entry, mark, keepsOtherValue: true)
      #expect(try self.cache.entry(.sample(1))?.history.isInvalidated == isInvalidated)
    }
  }

  @Test func aLaterInvalidationIsKeptIfItIsOfThisBoot() throws {
    let now = ContinuousClock.now
    let ahead = now + .seconds(1_000_000)
    let cases: [(stored: ContinuousClock.Instant, known: ContinuousClock.Instant?, isKept: Bool)] =
      [
        (now, now - .seconds(1), true), (now, now + .seconds(1), false), (now, nil, false),
        (ahead, now, false),
      ]
    for (index, (stored, known, isKept)) in cases.enumerated() {
      var entry = StoredEntry.sample(1)
      entry.history.lastInvalidation = Self.invalidation(at: stored)
      try self.cache.write(entry, .sample(index))
      entry.history.lastInvalidation = .none
      entry.invalidationsKnownUntil = known
      try self.cache.write(entry, .sample(index))
      #expect(try self.cache.entry(.sample(index))?.history.isInvalidated == isKept)
    }
  }

  @Test func anotherValueThatStaysIsInvalidatedWithTheOneThatIsNotWritten() throws {
    try self.cache.write(.sample(1), .sample(1))
    var entry = StoredEntry.sample(2)
    entry.history.lastInvalidation = Self.invalidation(at: .now)
    let edit = PreparedEntry(entry, identity: .sample(1), in: StoredBasis(content: nil))
    #expect(try self.cache.change { try $0.write(edit) } == .otherKept)
    #expect(try self.cache.entry(.sample(1))?.history.isInvalidated == true)
  }

  /// The writer has seen that, and the one that is not written knows nothing of it.
  @Test(arguments: [false, true])
  func anotherValueThatStaysIsAsStaleAsItWas(_ isStale: Bool) throws {
    var stored = StoredEntry.sample(1)
    if isStale { stored.history.lastInvalidation = Self.invalidation(at: .now) }
    try self.cache.write(stored, .sample(1))
    let edit = PreparedEntry(.sample(2), identity: .sample(1), in: StoredBasis(content: nil))
    let frames = try self.cache.frames {
      let outcome = try self.cache.change { try $0.write(edit) }
      #expect(outcome == .otherKept)
    }
    #expect(frames == 0)
    #expect(try self.cache.entry(.sample(1))?.history.isInvalidated == isStale)
  }

  /// A value that no storage has, and no other is stored: it must be written.
  @Test func anErrorBesideNoValueNeedsTheStoresOwn() throws {
    var entry = StoredEntry.sample(1)
    entry.content = .none
    try self.cache.write(entry, .sample(1))
    entry.history.error = RestoredError(typeName: "T", text: "a")
    let confirmation = StoredConfirmation(
      entry: entry, content: nil, hasValue: true, keepsOtherValue: true)
    #expect(confirmation.applied(to: try self.cache.entry(.sample(1))) == nil)
    let prepared = try #require(PreparedConfirmation(confirmation, identity: .sample(1)))
    #expect(try self.cache.change { try $0.confirm(prepared) } == .refused)
  }

  @Test func whatIsCodedInAnotherWayMustBeWrittenWhole() throws {
    try self.cache.write(.sample(1), .sample(1))
    let stored = try #require(try self.cache.entry(.sample(1)))
    func confirmation(_ change: (inout StoredEntry) -> Void) -> StoredConfirmation {
      var entry = stored
      change(&entry)
      return StoredConfirmation(
        entry: entry, content: stored.contentMark, hasValue: true, keepsOtherValue: false)
    }
    #expect(confirmation { _ in }.applied(to: stored) != nil)
    let changes: [(inout StoredEntry) -> Void] = [
      { $0.version = 2 }, { $0.coder = "x" }, { $0.kind = "y" },
    ]
    for (index, change) in changes.enumerated() {
      #expect(confirmation(change).applied(to: stored) == nil, "\(index)")
      let prepared = PreparedConfirmation(confirmation(change), identity: .sample(1))
      let row = try #require(prepared)
      #expect(try self.cache.change { try $0.confirm(row) } == .refused, "\(index)")
    }
  }

  @Test func anotherTextWithTheHashIsNeverOverwrittenOrRemoved() throws {
    try self.cache.write(.sample(1), .sample(1))
    try self.cache.connection.write {
      try self.cache.connection.execute("UPDATE entries SET identity = '[\"other\",1]'")
    }
    #expect(!(try self.cache.change { try $0.remove(.sample(1)) }))
    try self.cache.write(.sample(2), .sample(1))
    #expect(try self.cache.identities() == [#"["other",1]"#, #"["sample",1]"#])
  }

  @Test func whatAnotherProcessRemovedIsWrittenWhole() throws {
    try self.cache.write(.pages([.sample(1), .sample(2)]), .sample(1))
    let other = try self.cache.opener.openWriter()
    try other.write { try other.execute(EntryRow.delete, 1) }
    let entry = StoredEntry.pages([.sample(1), .sample(2), .sample(3)])
    guard case .inserted = try self.cache.write(entry, .sample(1)) else {
      Issue.record("it is not inserted")
      return
    }
    #expect(try self.cache.entry(.sample(1)) == entry)
  }

  @Test func anEntryChangesBetweenValueAndPages() throws {
    for entry in [StoredEntry.sample(1), .pages([.sample(1)]), .sample(2), .pages([.sample(2)])] {
      try self.cache.write(entry, .sample(1))
      #expect(try self.cache.entry(.sample(1)) == entry)
      #expect(try self.cache.storedTotals() == (try self.cache.countedTotals()))
    }
  }

  @Test func aStateBesideManyPagesTouchesNone() throws {
    var entry = StoredEntry.pages((0..<100).map { .sample($0) })
    try self.cache.write(entry, .sample(1))
    entry.history.errorUpdateCount = 1
    let frames = try self.cache.frames { try self.cache.write(entry, .sample(1)) }
    #expect(frames <= 3)
  }

  // MARK: - Random operations

  @Test(arguments: SeededGenerator.seeds(6))
  func anySequenceOfPageListsIsReadAsItWasWritten(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<120 {
      var numbers = Array(0..<10)
      if Int.random(in: 0..<4, using: &generator) == 0 { numbers.shuffle(using: &generator) }
      let pages = numbers.filter { _ in Bool.random(using: &generator) }.map { number in
        StoredEntry.Page.sample(
          number, .random(in: 0...1, using: &generator),
          count: .random(in: 0...30, using: &generator) * 10)
      }
      let entry = StoredEntry.pages(
        pages, next: Bool.random(using: &generator) ? Data("n".utf8) : nil)
      try self.cache.write(entry, .sample(.random(in: 1...2, using: &generator)))
      let identity = QueryIdentity.sample(.random(in: 1...2, using: &generator))
      try self.cache.write(entry, identity)
      #expect(try self.cache.entry(identity) == entry)
      #expect(try self.cache.storedTotals() == (try self.cache.countedTotals()))
    }
  }

  @Test(arguments: SeededGenerator.seeds(6))
  func totalsAreWhatTheRowsAddUpTo(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<60 {
      try self.cache.change { changes in
        for _ in 0..<5 {
          try Self.changeAtRandom(&changes, &generator)
        }
      }
      #expect(try self.cache.storedTotals() == (try self.cache.countedTotals()))
    }
    #expect(try self.cache.connection.pragma("PRAGMA foreign_key_check") == nil)
  }

  private static func changeAtRandom(
    _ changes: inout CacheChanges,
    _ generator: inout SeededGenerator
  ) throws {
    let identity = QueryIdentity.sample(.random(in: 0..<30, using: &generator))
    switch Int.random(in: 0..<12, using: &generator) {
    case 0: _ = try changes.remove(identity)
    case 1:
      var cursor = EvictionCursor()
      let limits = CacheLimits(entries: 20, bytes: 4_000)
      _ = try changes.evict(
        .rows(2), limits: limits, now: Date(), from: &cursor
      ) { _ in false }
    case 2:
      guard case .entry(let entry) = try changes.tables.read(identity) else { return }
      _ = try changes.quarantine(
        identity, revision: entry.revision, .wrongChecksum, now: Date())
    case 3:
      _ = try changes.invalidate(
        from: IdentityCursor(try IdentityPrefix(path: [])), at: 1, .rows(.max))
    case 4: try changes.recordUses([identity], .rows(.max))
    case 5, 6, 7:
      let pages = (0..<Int.random(in: 0..<5, using: &generator)).map {
        StoredEntry.Page.sample($0, count: 50)
      }
      _ = try changes.write(.pages(pages), identity: identity)
    default:
      var entry = StoredEntry.sample(1, count: .random(in: 0..<500, using: &generator))
      if Bool.random(using: &generator) {
        entry.history.error = RestoredError(typeName: "é", text: "ü€")
      }
      _ = try changes.write(entry, identity: identity)
    }
  }
}
