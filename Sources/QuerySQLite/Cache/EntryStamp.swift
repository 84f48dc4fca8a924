import Foundation
import Query

/// What a write must know about the stored row, which it compares with the wanted one while the
/// statement is on it: nothing is copied.
struct EntryStamp {
  /// How the stored row differs from the wanted one, apart from number, revision and use.
  enum Difference {
    /// Not at all.
    case none
    /// In the columns beside the value.
    case state
    /// In the value or its encoding.
    case value
  }

  /// The row's number.
  let id: Int64
  /// The byte count stored with it.
  let byteCount: Int64
  /// Whether its value is in pages.
  let hasPages: Bool
  /// What must be written.
  let difference: Difference

  /// Compares a row of ``EntryRow/readStamp`` with the wanted one. The value's bytes are not
  /// compared: the checksum stands for them.
  ///
  /// - Throws: `StorageError` (mismatch) if the file is damaged.
  init(_ row: SQLiteStatement, wanted: EntryRow) throws {
    self.id = try row.integer(at: 0)
    self.byteCount = try row.amount(at: 1)
    let checksum = row.isNull(at: 3) ? nil : try row.hash(at: 3)
    self.hasPages = try checksum != nil && !row.bool(at: 2)
    self.difference =
      if try checksum != wanted.checksum || !Self.hasSameCoding(row, wanted) {
        .value
      } else if try self.byteCount != wanted.byteCount || !Self.hasSameState(row, wanted) {
        .state
      } else {
        .none
      }
  }

  private static func hasSameCoding(_ row: SQLiteStatement, _ wanted: EntryRow) throws -> Bool {
    try row.hasText(wanted.kind, at: 4) && row.hasText(wanted.coder, at: 5)
      && row.integer(at: 6) == wanted.valueVersion
  }

  private static func hasSameState(_ row: SQLiteStatement, _ wanted: EntryRow) throws -> Bool {
    try row.optionalInteger(at: 7) == wanted.valueUpdatedAt
      && row.amount(at: 8) == wanted.valueUpdateCount
      && row.optionalInteger(at: 9) == wanted.errorUpdatedAt
      && row.amount(at: 10) == wanted.errorUpdateCount
      && row.bool(at: 11) == wanted.isInvalidated && row.bool(at: 12) == wanted.isPinned
      && row.optionalInteger(at: 13) == wanted.expiresAt
      && row.optionalText(at: 14) == wanted.errorType
      && row.optionalText(at: 15) == wanted.errorText
      && row.optionalData(at: 16) == wanted.nextPageID
      && row.optionalData(at: 17) == wanted.previousPageID
  }
}
