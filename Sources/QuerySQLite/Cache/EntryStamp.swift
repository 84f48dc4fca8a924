import Foundation
import Query

/// What a write has to know of the row that is stored, which it compares with the one that is wanted
/// while the statement stands on it: nothing of it is copied.
struct EntryStamp {
  /// In what the stored row is another one than the wanted one, beside number, revision and use.
  enum Difference {
    /// In nothing.
    case none
    /// In what stands beside the value.
    case state
    /// In the value, or in its coding.
    case value
    /// It is of another identity, which has the same hash.
    case identity
  }

  /// The row's number.
  let id: Int64
  /// How many bytes it was counted with.
  let byteCount: Int64
  /// Whether its value is in pages.
  let hasPages: Bool
  /// What is to be written.
  let difference: Difference

  /// Compares a row of ``EntryRow/readStamp`` with what is wanted. The value's bytes are not looked
  /// at: the checksum stands for them.
  ///
  /// - Throws: `StorageError` (mismatch) where the file is damaged.
  init(_ row: SQLiteStatement, wanted: EntryRow) throws {
    self.id = try row.integer(at: 0)
    self.byteCount = try row.amount(at: 1)
    let checksum = row.isNull(at: 4) ? nil : try row.hash(at: 4)
    self.hasPages = try checksum != nil && !row.bool(at: 3)
    self.difference =
      if try !row.hasText(wanted.identity, at: 2) {
        .identity
      } else if try checksum != wanted.checksum || !Self.hasSameCoding(row, wanted) {
        .value
      } else if try self.byteCount != wanted.byteCount || !Self.hasSameState(row, wanted) {
        .state
      } else {
        .none
      }
  }

  private static func hasSameCoding(_ row: SQLiteStatement, _ wanted: EntryRow) throws -> Bool {
    try row.hasText(wanted.kind, at: 5) && row.hasText(wanted.coder, at: 6)
      && row.integer(at: 7) == wanted.valueVersion
  }

  private static func hasSameState(_ row: SQLiteStatement, _ wanted: EntryRow) throws -> Bool {
    try row.optionalInteger(at: 8) == wanted.valueUpdatedAt
      && row.amount(at: 9) == wanted.valueUpdateCount
      && row.optionalInteger(at: 10) == wanted.errorUpdatedAt
      && row.amount(at: 11) == wanted.errorUpdateCount
      && row.bool(at: 12) == wanted.isInvalidated && row.bool(at: 13) == wanted.isPinned
      && row.optionalInteger(at: 14) == wanted.expiresAt
      && row.optionalText(at: 15) == wanted.errorType
      && row.optionalText(at: 16) == wanted.errorText
      && row.optionalData(at: 17) == wanted.nextPageID
      && row.optionalData(at: 18) == wanted.previousPageID
  }
}
