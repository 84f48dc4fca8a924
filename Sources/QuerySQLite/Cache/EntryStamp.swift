import FoundationEssentials
import Query

/// What a write must know about the stored row, which it compares with the wanted one while the
/// statement is on it: nothing is copied.
struct EntryStamp {
  /// How the stored row differs from the wanted one, apart from number, revision and use.
  enum Difference {
    /// Not at all.
    case none
    /// In when the value was known last, how often, and how long it is fresh.
    case date
    /// In other columns beside the value.
    case state
    /// In the value or its encoding.
    case value
  }

  /// The row's number.
  let id: Int64
  /// The byte count stored with it.
  let byteCount: Int64
  /// Whether it has a value.
  let hasValue: Bool
  /// Whether its value is in pages.
  let hasPages: Bool
  /// The version of its value.
  let version: Int64
  /// What must be written.
  let difference: Difference

  /// Compares a row of ``EntryRow/readStamp`` with the wanted one. The value's bytes are not
  /// compared: the checksum stands for them.
  ///
  /// - Throws: `StorageError` (mismatch, corrupt) if the file is damaged.
  init(_ row: SQLiteStatement, wanted: EntryRow) throws {
    self.id = try row.integer(at: 0)
    self.byteCount = try row.amount(at: 1)
    try row.requireHash(wanted.hash, at: 2)
    let checksum = try Self.checksum(row)
    self.hasValue = checksum != nil
    self.hasPages = try checksum != nil && !row.bool(at: 3)
    // A damaged one is no newer release's.
    self.version = row.rawInteger(at: 7)
    self.difference =
      if try !Self.hasSameContent(row, checksum, wanted) || !Self.hasSameCoding(row, wanted) {
        .value
      } else if try self.byteCount != wanted.byteCount || !Self.hasSameState(row, wanted) {
        .state
      } else {
        try Self.hasSameDate(row, wanted) ? .none : .date
      }
  }

  /// The checksum of a row of ``EntryRow/readStamp``; nil: it has no value.
  ///
  /// - Throws: `StorageError` (mismatch) if it is none.
  static func checksum(_ row: SQLiteStatement) throws -> XXH128? {
    row.isNull(at: 4) ? nil : try row.hash(at: 4)
  }

  /// Whether the value is the same, whatever metadata it has.
  private static func hasSameContent(
    _ row: SQLiteStatement, _ checksum: XXH128?, _ wanted: EntryRow
  ) throws -> Bool {
    guard let hash = wanted.contentHash.hash else { return checksum == wanted.checksum }
    return try hash.isStored(with: checksum, in: row)
  }

  private static func hasSameCoding(_ row: SQLiteStatement, _ wanted: EntryRow) throws -> Bool {
    try row.hasText(wanted.kind, at: 5) && row.hasText(wanted.coder, at: 6)
      && row.integer(at: 7) == wanted.valueVersion
  }

  private static func hasSameState(_ row: SQLiteStatement, _ wanted: EntryRow) throws -> Bool {
    try row.optionalInteger(at: 10) == wanted.errorUpdatedAt
      && row.amount(at: 11) == wanted.errorUpdateCount
      && row.integer(at: 12) == wanted.invalidatedAt && row.bool(at: 13) == wanted.isPinned
      && row.optionalInteger(at: 14) == wanted.expiresAt
      && row.optionalText(at: 15) == wanted.errorType
      && row.optionalText(at: 16) == wanted.errorText
      && row.optionalData(at: 17) == wanted.nextPageID
      && row.optionalData(at: 18) == wanted.previousPageID
      && row.optionalData(at: 19) == wanted.metadata
      && row.optionalInteger(at: 21) == wanted.outboxSequence
      && row.optionalText(at: 22) == wanted.includedKeys
  }

  private static func hasSameDate(_ row: SQLiteStatement, _ wanted: EntryRow) throws -> Bool {
    try row.optionalInteger(at: 8) == wanted.valueUpdatedAt
      && row.amount(at: 9) == wanted.valueUpdateCount
      && row.optionalInteger(at: 20) == wanted.freshFor
  }
}

extension XXH128 {
  /// Whether this is the hash of the value in a row of ``EntryRow/readStamp``, whatever metadata it has.
  ///
  /// - Parameters:
  ///   - checksum: That of the row; nil: it has no value.
  ///   - row: The row.
  /// - Throws: `StorageError` (mismatch) if its metadata are none.
  func isStored(with checksum: XXH128?, in row: SQLiteStatement) throws -> Bool {
    guard let checksum else { return false }
    return try checksum == self.covering(row.optionalData(at: 19))
  }
}
