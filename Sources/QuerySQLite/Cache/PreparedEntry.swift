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

  /// Prepares an entry.
  ///
  /// - Parameters:
  ///   - entry: The entry.
  ///   - identity: The identity under which it is stored.
  /// - Complexity: O(*n*) in the bytes of the value, which are hashed.
  init(_ entry: StoredEntry, identity: QueryIdentity) {
    let entry = entry.withLargeValueApart
    self.contentSize = entry.contentSize
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

/// What is written beside a value, ahead of the transaction that writes it.
final class PreparedConfirmation {
  @exclusivity(unchecked) fileprivate var row: EntryRow
  fileprivate let keepsOtherValue: Bool
  fileprivate let hasValue: Bool
  /// Whether a storage has had the store's value.
  fileprivate let isValueKnown: Bool

  /// What has become of a confirmation.
  enum Outcome {
    /// It is stored.
    case written
    /// Another value is stored, and stays.
    case otherKept
    /// Somebody has removed the entry, or what is there is nothing to the store.
    case ignored
    /// Another value is stored, or none: the whole entry is needed.
    case refused
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
  }
}

extension StoredContentMark {
  init(_ hash: XXH128, byteCount: Int, next: Data? = nil, previous: Data? = nil) {
    self.init(
      hash: hash.withBytes { Data($0) }, byteCount: byteCount, next: next, previous: previous)
  }
}

// MARK: - Written

extension CacheChanges {
  /// Writes the difference between an entry and the stored one, judging by the checksums in the
  /// rows: another process may have written, evicted or erased it meanwhile.
  ///
  /// - Throws: `StorageError`.
  @discardableResult
  mutating func write(_ entry: PreparedEntry) throws -> CacheWriteOutcome {
    entry.row.partition = self.partition
    let stamp = try self.connection.first(
      EntryRow.readStamp, self.partition, entry.row.identity
    ) {
      try EntryStamp($0, wanted: entry.row)
    }
    let byteCount = Int(entry.row.byteCount)
    guard let stamp else {
      self.count(entries: 1, bytes: byteCount)
      self.stamp(&entry.row)
      try entry.row.insert(into: self.connection)
      entry.row.id = try self.connection.lastInsertedID
      try self.writePages(of: entry, hadPages: false)
      return .inserted(revision: entry.row.revision, bytes: byteCount)
    }
    if stamp.difference == .none { return .unchanged }
    let difference = byteCount - Int(stamp.byteCount)
    self.count(entries: 0, bytes: difference)
    self.stamp(&entry.row)
    entry.row.id = stamp.id
    if stamp.difference == .state {
      try entry.row.updateState(in: self.connection)
    } else {
      try entry.row.update(in: self.connection)
      try self.writePages(of: entry, hadPages: stamp.hasPages)
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
    ) {
      (
        stamp: try EntryStamp($0, wanted: confirmation.row),
        notes: confirmation.keepsOtherValue ? try EntryNotes($0) : nil
      )
    }
    guard let (stamp, notes) = stored else { return try self.addWithoutValue(confirmation) }
    if let notes { return try self.note(confirmation, beside: stamp, notes) }
    if stamp.difference == .value { return .refused }
    if stamp.difference == .none { return .written }
    self.count(entries: 0, bytes: Int(confirmation.row.byteCount - stamp.byteCount))
    self.stamp(&confirmation.row)
    confirmation.row.id = stamp.id
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
    if stamp.difference == .value {
      if row.isInvalidated, !notes.isInvalidated { try self.invalidate(rowWithID: stamp.id) }
      return confirmation.hasValue && !confirmation.isValueKnown ? .ignored : .otherKept
    }
    var new = notes
    new.isInvalidated = notes.isInvalidated || row.isInvalidated
    if row.errorText != nil {
      (new.errorType, new.errorText) = (row.errorType, row.errorText)
      new.errorUpdatedAt = row.errorUpdatedAt
      new.errorUpdateCount = max(notes.errorUpdateCount, row.errorUpdateCount)
    }
    if notes.outboxSequence == nil {
      (new.outboxSequence, new.includedKeys) = (row.outboxSequence, row.includedKeys)
    }
    if new == notes { return .written }
    let byteCount = max(stamp.byteCount + new.errorBytes - notes.errorBytes, 0)
    self.count(entries: 0, bytes: Int(byteCount - stamp.byteCount))
    try new.write(
      to: stamp.id, byteCount: byteCount, self.nextRevision(), self.totals, self.connection)
    return .written
  }
}
