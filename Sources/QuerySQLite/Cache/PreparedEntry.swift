import FoundationEssentials
import Query

/// An entry that is hashed and laid out as a row, ahead of the transaction that writes it, which gives
/// the row its numbers.
///
/// An object, since a row is large.
final class PreparedEntry {
  /// The row, in no partition yet.
  @exclusivity(unchecked) fileprivate(set) var row: EntryRow

  /// How many bytes the value has, coded.
  let contentSize: Int

  /// The pages that the value is stored in; nil: it is in the row.
  let pages: [StoredEntry.Page]?
  let wantedPages: [PagePlan.Wanted]

  /// In the place of what alone it is written.
  private let basis: StoredBasis?
  /// What its state knows of invalidations.
  fileprivate let invalidations: KnownInvalidations
  /// Whether the stored entry was invalidated later, and stays so.
  @exclusivity(unchecked) fileprivate(set) var hasKeptInvalidation = false

  /// Prepares an entry.
  ///
  /// - Parameters:
  ///   - entry: The entry.
  ///   - identity: The identity under which it is stored.
  ///   - basis: In the place of what alone it is written; nil: of anything.
  /// - Complexity: O(*n*) in the bytes of the value, which are hashed.
  init(_ entry: StoredEntry, identity: QueryIdentity, in basis: StoredBasis? = nil) {
    let entry = entry.withLargeValueApart
    self.contentSize = entry.contentSize
    self.basis = basis
    self.invalidations = entry.knownInvalidations
    self.pages = if case .pages(let pages, _, _) = entry.content { pages } else { nil }
    self.wantedPages = (self.pages ?? []).map(PagePlan.Wanted.init)
    self.row = EntryRow(
      entry, identity: identity, hash: XXH128(hashing: identity.text), partition: 0,
      pages: self.wantedPages.map(\.checksum))
  }

  /// By what the value is known again.
  var mark: StoredContentMark? {
    self.row.contentHash.hash.map {
      StoredContentMark(
        $0, byteCount: self.contentSize, next: self.row.nextPageID,
        previous: self.row.previousPageID)
    }
  }
}

extension PreparedEntry {
  /// Whether it was made of a value that was stored.
  fileprivate var isOfKnownBasis: Bool { self.basis?.content != nil }

  /// Whether it takes the place of a row of ``EntryRow/readStamp``.
  ///
  /// - Parameters:
  ///   - row: The row.
  ///   - isOlder: Whether it was asked for before an invalidation, and the value of the row after it.
  /// - Throws: `StorageError` (mismatch, corrupt) if the file is damaged.
  fileprivate func replaces(_ row: SQLiteStatement, isOlder: Bool) throws -> Bool {
    guard let basis else { return !isOlder }
    guard let hash = basis.content?.hash.withUnsafeBytes({ XXH128(bytes: $0) }) else {
      return false
    }
    return try hash.isStored(with: EntryStamp.checksum(row), in: row)
  }
}

/// What is written beside a value, ahead of the transaction that writes it.
final class PreparedConfirmation {
  @exclusivity(unchecked) fileprivate var row: EntryRow
  fileprivate let keepsOtherValue: Bool
  fileprivate let hasValue: Bool
  /// Whether a storage has had the store's value.
  fileprivate let isValueKnown: Bool
  fileprivate let invalidations: KnownInvalidations
  /// Whether the stored entry was invalidated later, and stays so.
  @exclusivity(unchecked) fileprivate(set) var hasKeptInvalidation = false

  /// What has become of a confirmation.
  enum Outcome: Equatable {
    /// It is stored.
    case written
    /// Another value is stored, and stays.
    case otherKept
    /// Somebody has removed the entry, or what is there is nothing to the store.
    case ignored
    /// Another value is stored, or none: the whole entry is needed.
    case refused
    /// A newer release has written the entry, which stays as it is.
    case newerKept(version: Int)
  }

  /// Prepares a confirmation.
  ///
  /// - Parameter confirmation: The value that was confirmed; nil is returned if its mark is none of ours.
  init?(_ confirmation: StoredConfirmation, identity: QueryIdentity) {
    guard let row = EntryRow(confirmation, identity: identity, partition: 0) else { return nil }
    self.row = row
    self.keepsOtherValue = confirmation.keepsOtherValue
    self.hasValue = confirmation.hasValue
    self.isValueKnown = confirmation.content != nil
    self.invalidations = confirmation.entry.knownInvalidations
  }
}

extension StoredContentMark {
  init(_ hash: XXH128, byteCount: Int, next: Data? = nil, previous: Data? = nil) {
    self.init(
      hash: (hash.high.bigEndian, hash.low.bigEndian), byteCount: byteCount, next: next,
      previous: previous)
  }
}

// MARK: - Written

extension CacheChanges {
  /// Writes the difference between an entry and the stored one, judging by the checksums in the
  /// rows: another process may have written, evicted or erased it meanwhile. One of a newer release stays,
  /// whatever is written.
  ///
  /// - Throws: `StorageError`.
  @discardableResult
  mutating func write(_ entry: PreparedEntry) throws -> CacheWriteOutcome {
    entry.row.partition = self.partition
    let stored = try self.connection.first(
      EntryRow.readStamp, self.partition, entry.row.identity
    ) { row in
      let last = try row.lastInvalidation(at: 12)
      let merged = entry.invalidations.merged(with: last)
      entry.hasKeptInvalidation = merged.isNews
      entry.row.invalidatedAt = merged.invalidation.microseconds
      return (
        stamp: try EntryStamp(row, wanted: entry.row),
        isReplaced: try entry.replaces(row, isOlder: merged.isOlder), last
      )
    }
    let byteCount = Int(entry.row.byteCount)
    guard let (stamp, isReplaced, last) = stored else {
      if entry.isOfKnownBasis { return .ignored }
      self.count(entries: 1, bytes: byteCount)
      self.stamp(&entry.row)
      try entry.row.insert(into: self.connection)
      entry.row.id = try self.connection.lastInsertedID
      try self.writePages(of: entry, hadPages: false)
      return .inserted(revision: entry.row.revision, bytes: byteCount)
    }
    if stamp.version > entry.row.valueVersion { return .newerKept(version: Int(stamp.version)) }
    if stamp.difference == .none { return .unchanged }
    guard isReplaced else {
      try self.note(entry.invalidations.last, on: stamp, last)
      return .otherKept
    }
    let difference = byteCount - Int(stamp.byteCount)
    entry.row.id = stamp.id
    if stamp.difference == .date, try self.confirmApart(&entry.row) {
      return .updated(revision: entry.row.revision, bytes: 0)
    }
    self.count(entries: 0, bytes: difference)
    self.stamp(&entry.row)
    if stamp.difference == .value {
      try entry.row.update(in: self.connection)
      try self.writePages(of: entry, hadPages: stamp.hasPages)
    } else {
      try entry.row.updateState(in: self.connection)
    }
    return .updated(revision: entry.row.revision, bytes: difference)
  }

  /// Writes what is beside a value: another process may have written another one, with metadata of its own.
  ///
  /// - Throws: `StorageError`.
  mutating func confirm(
    _ confirmation: PreparedConfirmation
  ) throws -> PreparedConfirmation.Outcome {
    confirmation.row.partition = self.partition
    let stored = try self.connection.first(
      EntryRow.readStamp, self.partition, confirmation.row.identity
    ) { row -> (stamp: EntryStamp, notes: EntryNotes?, olderThan: LastInvalidation?) in
      if confirmation.keepsOtherValue {
        return (try EntryStamp(row, wanted: confirmation.row), try EntryNotes(row), nil)
      }
      let last = try row.lastInvalidation(at: 12)
      let merged = confirmation.invalidations.merged(with: last)
      confirmation.hasKeptInvalidation = merged.isNews
      confirmation.row.invalidatedAt = merged.invalidation.microseconds
      return (
        try EntryStamp(row, wanted: confirmation.row), nil, merged.isOlder ? last : nil
      )
    }
    guard let (stamp, notes, newerAnswer) = stored else {
      return try self.addWithoutValue(confirmation)
    }
    if stamp.version > confirmation.row.valueVersion {
      return .newerKept(version: Int(stamp.version))
    }
    if let notes { return try self.note(confirmation, beside: stamp, notes) }
    if let newerAnswer {
      try self.note(confirmation.invalidations.last, on: stamp, newerAnswer)
      return .otherKept
    }
    if stamp.difference == .value { return .refused }
    if stamp.difference == .none { return .written }
    confirmation.row.id = stamp.id
    if stamp.difference == .date, try self.confirmApart(&confirmation.row) { return .written }
    self.count(entries: 0, bytes: Int(confirmation.row.byteCount - stamp.byteCount))
    self.stamp(&confirmation.row)
    try confirmation.row.updateState(in: self.connection)
    return .written
  }

  /// Adds an entry that has an error, or shows edits alone, where there is none.
  private mutating func addWithoutValue(
    _ confirmation: PreparedConfirmation
  ) throws -> PreparedConfirmation.Outcome {
    guard confirmation.keepsOtherValue else { return .refused }
    if confirmation.hasValue {
      // One that no storage has had was not removed by anybody.
      return confirmation.isValueKnown ? .ignored : .refused
    }
    self.count(entries: 1, bytes: Int(confirmation.row.byteCount))
    self.stamp(&confirmation.row)
    try confirmation.row.insert(into: self.connection)
    return .written
  }

  /// Writes an error or an invalidation beside what is stored, of which nothing else changes: it may have
  /// been confirmed, or invalidated, meanwhile.
  private mutating func note(
    _ confirmation: PreparedConfirmation, beside stamp: EntryStamp, _ notes: EntryNotes
  ) throws -> PreparedConfirmation.Outcome {
    let row = confirmation.row
    let isUnknown = confirmation.hasValue && !confirmation.isValueKnown
    // No storage has had the store's value, and there is no other.
    if isUnknown, !stamp.hasValue { return .refused }
    if stamp.difference == .value {
      try self.note(confirmation.invalidations.last, on: stamp, notes.lastInvalidation)
      return isUnknown ? .ignored : .otherKept
    }
    var new = notes
    new.lastInvalidation = confirmation.invalidations.last.noted(beside: notes.lastInvalidation)
    if row.errorText != nil {
      (new.errorType, new.errorText) = (row.errorType, row.errorText)
      new.errorUpdatedAt = row.errorUpdatedAt
      new.errorUpdateCount = max(notes.errorUpdateCount, row.errorUpdateCount)
    }
    if notes.outboxSequence == nil {
      (new.outboxSequence, new.includedKeys) = (row.outboxSequence, row.includedKeys)
    }
    if new == notes { return .written }
    try self.foldConfirmation(ofRowWithID: stamp.id)
    let byteCount = max(stamp.byteCount + new.errorBytes - notes.errorBytes, 0)
    self.count(entries: 0, bytes: Int(byteCount - stamp.byteCount))
    try new.write(
      to: stamp.id, byteCount: byteCount, self.nextRevision(), self.totals, self.connection)
    return .written
  }

  /// Invalidates a row of which nothing else is written, unless its value answers that.
  private mutating func note(
    _ invalidation: LastInvalidation, on stamp: EntryStamp, _ stored: LastInvalidation
  ) throws {
    let new = invalidation.noted(beside: stored)
    if new != stored { try self.invalidate(rowWithID: stamp.id, at: new.microseconds) }
  }
}
