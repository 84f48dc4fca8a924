import FoundationEssentials
import Query
import QuerySQLite

/// The faults of an entry of `cache.sqlite`: hash, checksums, pages and size, each by itself.
struct EntryContent {
  /// The hash, as stored.
  let hash: InspectedHash
  /// The faults.
  private(set) var faults = [(kind: InspectionFinding.Kind, message: String)]()

  /// Id: the columns that are checked.
  private static let read = SQL(
    assembling: """
      SELECT e.hash, e.checksum, e.byte_count, e.next_page_id, e.previous_page_id, e.value,
        e.identity, e.error_type, e.error_text, e.kind, e.coder, \(ConfirmationRow.revision),
        e.value_version, \(ConfirmationRow.updatedAt), e.expires_at, e.metadata,
        \(ConfirmationRow.freshFor), \(ConfirmationRow.updateCount), e.error_update_count,
        e.invalidated_at
      FROM entries AS e \(ConfirmationRow.ofEntry) WHERE e.id = ?
      """)

  /// Entry: position, checksum, page id, value, metadata.
  private static let pages: SQL = """
    SELECT position, checksum, page_id, value, metadata FROM pages WHERE entry = ? ORDER BY position
    """

  /// The sums over the pages of an entry.
  private struct Pages {
    var stored = [XXH128]()
    var byteCount = 0
    var damaged = [Int]()
  }

  /// Reads an entry, and checks it; nil if it is gone.
  ///
  /// - Throws: `StorageError`; mismatch if a column holds what no release writes there.
  init?(_ id: Int64, on connection: SQLiteConnection) throws {
    let pages = try Self.readPages(of: id, on: connection)
    let content = try connection.first(Self.read, id) { try Self(row: $0, pages) }
    guard let content else { return nil }
    self = content
  }

  private static func readPages(of id: Int64, on connection: SQLiteConnection) throws -> Pages {
    var pages = Pages()
    try connection.withStatement(Self.pages) { row in
      try row.bindAll(id)
      while try row.step() {
        let pageID = try row.data(at: 2)
        let metadata = try row.optionalData(at: 4)
        let (checksum, count) = try row.withBytes(at: 3) { value in
          (
            pageID.withUnsafeBytes { XXH128(pageID: $0, value: value).covering(metadata) },
            value.count + (metadata?.count ?? 0)
          )
        }
        let stored = try row.hash(at: 1)
        if stored != checksum { pages.damaged.append(pages.stored.count) }
        pages.stored.append(stored)
        pages.byteCount += pageID.count + count
      }
    }
    return pages
  }

  private init(row: SQLiteStatement, _ pages: Pages) throws {
    self.hash = InspectedHash(try row.hash(at: 0))
    let checksum = row.isNull(at: 1) ? nil : try row.hash(at: 1)
    let (next, previous) = (try row.optionalData(at: 3), try row.optionalData(at: 4))
    var size = pages.byteCount + (next?.count ?? 0) + (previous?.count ?? 0)
    var value: XXH128?
    if !row.isNull(at: 5) {
      let (hash, count) = try row.withBytes(at: 5) { (XXH128(hashing: $0), $0.count) }
      value = hash
      size += count
    }
    let identity = try row.withText(at: 6) { (XXH128(hashing: $0), $0.count) }
    size += identity.1
    for column: Int32 in 7...8 where !row.isNull(at: column) {
      size += try row.withText(at: column) { $0.count }
    }
    // Columns that are read only to check that they can be.
    for column: Int32 in 9...10 { _ = try row.text(at: column) }
    for column: Int32 in 11...12 { _ = try row.integer(at: column) }
    for column: Int32 in 13...14 { _ = try row.optionalInteger(at: column) }
    let metadata = try row.optionalData(at: 15)
    size += metadata?.count ?? 0
    if !row.isNull(at: 16) { _ = try row.amount(at: 16) }
    for column: Int32 in 17...18 { _ = try row.amount(at: column) }
    _ = try row.lastInvalidation(at: 19)
    if identity.0 != self.hash.bytes {
      self.faults.append((.wrongHash, "the identity has another hash, \(identity.0)"))
    }
    if checksum == nil, metadata != nil {
      self.faults.append((.wrongChecksum, "it has metadata, and no value"))
    }
    self.checkValue(value?.covering(metadata), checksum, pages) {
      XXH128(pages: $0, next: next, previous: previous).covering(metadata)
    }
    let stored = try row.integer(at: 2)
    if stored != size, self.faults.isEmpty {
      self.faults.append((.wrongSize, "it is counted with \(stored) bytes, and has \(size)"))
    }
  }

  private mutating func checkValue(
    _ value: XXH128?, _ checksum: XXH128?, _ pages: Pages, ofPages: ([XXH128]) -> XXH128
  ) {
    for page in pages.damaged {
      self.faults.append((.wrongChecksum, "page \(page) is not what was written"))
    }
    switch (checksum, value) {
    case (nil, nil):
      if pages.stored.isEmpty { return }
      self.faults.append((.wrongPages, "it has \(pages.stored.count) pages, and no value"))
    case (nil, _?): self.faults.append((.wrongChecksum, "it has a value, and no checksum"))
    case (let checksum?, let value?):
      if value != checksum {
        self.faults.append((.wrongChecksum, "the value is not what was written"))
      }
      if !pages.stored.isEmpty {
        self.faults.append((.wrongPages, "it has pages beside its value"))
      }
    case (let checksum?, nil):
      if ofPages(pages.stored) == checksum { return }
      self.faults.append(
        (.wrongPages, "its \(pages.stored.count) pages are not all, or not in their order"))
    }
  }
}
