import FoundationEssentials
import Query
import QuerySQLite

/// Rows of ``InspectedEntry/list`` that were read but not passed on yet, without an object per row:
/// the transaction that read them has ended, so that the caller may take its time.
///
/// Identities are stored one after the other in one buffer, up to ``maximumTextBytes``; rows beyond
/// that are read again when they are passed on.
struct EntryIndex {
  /// The columns of a row except the identity.
  private struct Row {
    var id: Int64
    var hash: XXH128
    var byteCount: Int64
    var storedAt, failedAt, expiresAt, lastUse: Int64
    var revision: Int64
    var updates, failures: Int32
    var version: Int32
    var partition, kind, coder: UInt16
    var flags: UInt8
    /// Where the identity begins; negative: the row is read again.
    var start: Int32
    var length: Int32
  }

  /// Stands for a NULL date: no clock reaches it.
  private static let none = Int64.min

  /// The maximum number of bytes of identities kept.
  static let maximumTextBytes = 16 << 20

  private var rows = [Row]()
  private var text = [UInt8]()
  private var words = [String]()

  /// How many rows there are.
  var count: Int { self.rows.count }

  /// The number of a row.
  func id(at index: Int) -> Int64 { self.rows[index].id }

  /// Adds the current row of a statement.
  ///
  /// - Parameter partitions: The names of the accounts, by number.
  /// - Throws: `StorageError` (mismatch) if it is damaged.
  mutating func append(_ row: SQLiteStatement, _ partitions: [Int64: String]) throws {
    let partition = try row.integer(at: 1)
    let flags = [11, 12, 13].enumerated()
    var bits: UInt8 = 0
    for (bit, column) in flags where try row.bool(at: Int32(column)) { bits |= 1 << UInt8(bit) }
    let words = [
      self.word(partitions[partition] ?? "?"), self.word(try row.text(at: 3)),
      self.word(try row.text(at: 4)),
    ].compactMap { $0 }
    let isWhole = words.count == 3
    let place = try row.withText(at: 17) { isWhole ? self.keep($0) : (start: -1, length: 0) }
    self.rows.append(
      Row(
        id: try row.integer(at: 0), hash: try row.hash(at: 2), byteCount: try row.integer(at: 6),
        storedAt: try row.optionalInteger(at: 7) ?? Self.none,
        failedAt: try row.optionalInteger(at: 9) ?? Self.none,
        expiresAt: try row.optionalInteger(at: 14) ?? Self.none,
        lastUse: try row.optionalInteger(at: 16) ?? Self.none,
        revision: try row.integer(at: 15),
        updates: Int32(clamping: try row.integer(at: 8)),
        failures: Int32(clamping: try row.integer(at: 10)),
        version: Int32(clamping: try row.integer(at: 5)),
        partition: words.first ?? 0, kind: isWhole ? words[1] : 0, coder: isWhole ? words[2] : 0,
        flags: bits, start: place.start, length: place.length))
  }

  private mutating func keep(_ bytes: UnsafeRawBufferPointer) -> (start: Int32, length: Int32) {
    guard self.text.count + bytes.count <= Self.maximumTextBytes else { return (-1, 0) }
    let start = Int32(self.text.count)
    self.text.append(contentsOf: bytes)
    return (start, Int32(bytes.count))
  }

  /// The number of a word of which there are few: the name of an account, a kind, a coder; nil if
  /// there are more than expected.
  private mutating func word(_ word: String) -> UInt16? {
    if let index = self.words.firstIndex(of: word) { return UInt16(index) }
    if self.words.count >= Self.maximumWords { return nil }
    self.words.append(word)
    return UInt16(self.words.count - 1)
  }

  private static let maximumWords = 256

  /// A row; nil if it must be read again.
  func entry(at index: Int) -> InspectedEntry? {
    let row = self.rows[index]
    if row.start < 0 { return nil }
    let identity = self.text[Int(row.start)..<Int(row.start + row.length)]
    func date(_ number: Int64) -> Int64? { number == Self.none ? nil : number }
    return InspectedEntry(
      id: row.id, partition: self.words[Int(row.partition)],
      hash: InspectedHash(row.hash), kind: self.words[Int(row.kind)],
      coder: self.words[Int(row.coder)], version: Int(row.version), byteCount: Int(row.byteCount),
      storedAt: date(row.storedAt), updates: Int(row.updates), failedAt: date(row.failedAt),
      failures: Int(row.failures), hasError: row.flags & 1 != 0, isInvalidated: row.flags & 2 != 0,
      isPinned: row.flags & 4 != 0, expiresAt: date(row.expiresAt), revision: row.revision,
      lastUse: date(row.lastUse), identity: String(decoding: identity, as: UTF8.self))
  }
}
