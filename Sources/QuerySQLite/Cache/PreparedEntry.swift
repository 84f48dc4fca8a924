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
  /// Up to when its state knows of invalidations, in microseconds since the start of the machine.
  private let invalidationsKnownUntil: Int64?
  /// Whether the stored entry was invalidated later, and stays so.
  @exclusivity(unchecked) private(set) var hasKeptInvalidation = false

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
    self.invalidationsKnownUntil = entry.invalidationsKnownUntil?.microsecondsSinceBoot
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
  /// - Throws: `StorageError` (mismatch, corrupt) if the file is damaged.
  fileprivate func replaces(_ row: SQLiteStatement) throws -> Bool {
    guard let basis else { return true }
    guard let hash = basis.content?.hash.withUnsafeBytes({ XXH128(bytes: $0) }) else {
      return false
    }
    return try hash.isStored(with: EntryStamp.checksum(row), in: row)
  }

  /// Keeps the invalidation of a row of ``EntryRow/readStamp``, if its state does not know of that.
  ///
  /// - Throws: `StorageError` (mismatch, corrupt) if the file is damaged.
  fileprivate func keepInvalidation(of row: SQLiteStatement) throws {
    let time = try row.amount(at: 12)
    self.hasKeptInvalidation = self.row.keepInvalidation(
      at: time, ifAfter: self.invalidationsKnownUntil)
  }
}

extension EntryRow {
  /// Takes the invalidation of the stored row, if both have one, or if it was made in this boot and after
  /// what the state knows of.
  ///
  /// - Parameters:
  ///   - time: When the stored row was invalidated; 0: it is not.
  ///   - known: Up to when the state knows of invalidations; nil: of all.
  /// - Returns: Whether the state does not know of it.
  fileprivate mutating func keepInvalidation(at time: Int64, ifAfter known: Int64?) -> Bool {
    if time == 0 { return false }
    // The clock of an earlier boot may be ahead; its fetches are over.
    let isUnknown =
      known.map { time > $0 && time <= ContinuousClock.now.microsecondsSinceBoot } ?? false
    if isUnknown || self.invalidatedAt != 0 { self.invalidatedAt = max(time, self.invalidatedAt) }
    return isUnknown
  }
}

/// What is written beside a value, ahead of the transaction that writes it.
final class PreparedConfirmation {
  @exclusivity(unchecked) fileprivate var row: EntryRow
  fileprivate let keepsOtherValue: Bool
  fileprivate let hasValue: Bool
  /// Whether a storage has had the store's value.
  fileprivate let isValueKnown: Bool
  fileprivate let invalidationsKnownUntil: Int64?
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
    self.invalidationsKnownUntil = confirmation.entry.invalidationsKnownUntil?.microsecondsSinceBoot
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
      try entry.keepInvalidation(of: row)
      return (stamp: try EntryStamp(row, wanted: entry.row), isReplaced: try entry.replaces(row))
    }
    let byteCount = Int(entry.row.byteCount)
    guard let (stamp, isReplaced) = stored else {
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
      if entry.row.invalidatedAt != 0, !entry.hasKeptInvalidation {
        try self.invalidate(rowWithID: stamp.id, at: entry.row.invalidatedAt)
      }
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
    ) { row -> (stamp: EntryStamp, notes: EntryNotes?) in
      if confirmation.keepsOtherValue {
        return (try EntryStamp(row, wanted: confirmation.row), try EntryNotes(row))
      }
      confirmation.hasKeptInvalidation = confirmation.row.keepInvalidation(
        at: try row.amount(at: 12), ifAfter: confirmation.invalidationsKnownUntil)
      return (try EntryStamp(row, wanted: confirmation.row), nil)
    }
    guard let (stamp, notes) = stored else { return try self.addWithoutValue(confirmation) }
    if stamp.version > confirmation.row.valueVersion {
      return .newerKept(version: Int(stamp.version))
    }
    if let notes { return try self.note(confirmation, beside: stamp, notes) }
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
      if row.invalidatedAt > notes.invalidatedAt {
        try self.invalidate(rowWithID: stamp.id, at: row.invalidatedAt)
      }
      return isUnknown ? .ignored : .otherKept
    }
    var new = notes
    new.invalidatedAt = max(notes.invalidatedAt, row.invalidatedAt)
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
}
