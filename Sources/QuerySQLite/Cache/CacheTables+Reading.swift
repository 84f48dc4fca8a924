import Foundation
import Query

extension CacheTables {
  /// Limit, partition, hash: the one read of hydration. The value of a row above the limit is not
  /// touched.
  private static let read: SQL = """
    SELECT id, revision, identity, byte_count, checksum, kind, coder, value_version,
      value_updated_at, value_update_count, error_updated_at, error_update_count, is_invalidated,
      is_pinned, expires_at, error_type, error_text, next_page_id, previous_page_id,
      CASE WHEN byte_count <= ? THEN value END
    FROM entries WHERE partition = ? AND hash = ?
    """

  /// What one row tells.
  private enum Found {
    case reading(CacheReading)
    /// The value is in pages. The entry has none yet.
    case pages(StoredEntry, Header)
  }

  /// What is read beside a ``StoredEntry``.
  private struct Header {
    let id: Int64
    let revision: Int64
    let checksum: XXH128
    let next: Data?
    let previous: Data?
  }

  /// Reads an entry. One statement for a plain query; where the value is in pages, two, which see
  /// the same state: inside the transaction that is open, or one of its own.
  ///
  /// - Parameters:
  ///   - identity: The identity.
  ///   - limit: Entries with more bytes are ``CacheReading/large(byteCount:)``.
  /// - Throws: `StorageError`.
  /// - Complexity: O(*n*) in the bytes of the value.
  func read(_ identity: QueryIdentity, limit: Int = .max) throws -> CacheReading {
    let hash = XXH128(hashing: identity.text)
    let found = try self.connection.first(Self.read, limit, self.partition, hash) { row in
      try Self.found(row, identity, limit)
    }
    switch found {
    case nil: return .absent
    case .reading(let reading): return reading
    case .pages(let entry, let header):
      if self.connection.transaction == .none {
        // The pages may belong to another state by now.
        return try self.connection.read { try self.read(identity, limit: limit) }
      }
      return try self.readPages(of: entry, header)
    }
  }

  private static func found(
    _ row: SQLiteStatement,
    _ identity: QueryIdentity,
    _ limit: Int
  ) throws -> Found {
    guard try row.hasText(identity.text, at: 2) else { return .reading(.collision) }
    let byteCount = Int(try row.amount(at: 3))
    if byteCount > limit { return .reading(.large(byteCount: byteCount)) }
    let id = try row.integer(at: 0)
    let revision = try row.amount(at: 1)
    let checksum = row.isNull(at: 4) ? nil : try row.hash(at: 4)
    let value = try self.value(of: row)
    switch (checksum, value) {
    case (nil, nil):
      return .reading(.entry(try self.entry(of: row, .none), id: id, revision: revision))
    case (let checksum?, let (hash, data)?) where checksum == hash:
      return .reading(.entry(try self.entry(of: row, .value(data)), id: id, revision: revision))
    case (let checksum?, nil):
      let header = Header(
        id: id, revision: revision, checksum: checksum, next: try row.optionalData(at: 17),
        previous: try row.optionalData(at: 18))
      return .pages(try self.entry(of: row, .none), header)
    default: return .reading(.wrongChecksum(id: id, revision: revision))
    }
  }

  /// The value and its hash, which is made where SQLite has the bytes.
  private static func value(of row: SQLiteStatement) throws -> (hash: XXH128, data: Data)? {
    if row.isNull(at: 19) { return nil }
    return try row.withBytes(at: 19) { (XXH128(hashing: $0), Data($0)) }
  }

  private static func entry(
    of row: SQLiteStatement,
    _ content: StoredEntry.Content
  ) throws -> StoredEntry {
    StoredEntry(
      kind: try row.text(at: 5),
      coder: try row.text(at: 6),
      version: Int(try row.integer(at: 7)),
      content: content,
      history: UpdateHistory(
        valueUpdateCount: Int(try row.amount(at: 9)),
        valueLastUpdatedAt: try row.optionalDate(at: 8),
        error: try row.isNull(at: 15)
          ? nil
          : RestoredError(
            typeName: row.text(at: 15), text: row.optionalText(at: 16) ?? ""),
        errorUpdateCount: Int(try row.amount(at: 11)),
        errorLastUpdatedAt: try row.optionalDate(at: 10),
        isInvalidated: try row.bool(at: 12)
      ),
      isPinned: try row.bool(at: 13),
      expiresAt: try row.optionalDate(at: 14)
    )
  }

  private func readPages(of entry: StoredEntry, _ header: Header) throws -> CacheReading {
    var checksums = [XXH128]()
    let pages = try self.connection.rows(PageRow.readContents, header.id) { row in
      let page = try Self.page(row)
      checksums.append(page.checksum)
      return (content: page.content, isSound: page.checksum == (try row.hash(at: 0)))
    }
    let checksum = XXH128(pages: checksums, next: header.next, previous: header.previous)
    guard checksum == header.checksum, pages.allSatisfy(\.isSound) else {
      return .wrongChecksum(id: header.id, revision: header.revision)
    }
    var entry = entry
    entry.content = .pages(
      pages.map(\.content), next: header.next, previous: header.previous)
    return .entry(entry.withLargeValue, id: header.id, revision: header.revision)
  }

  private static func page(
    _ row: SQLiteStatement
  ) throws -> (content: StoredEntry.Page, checksum: XXH128) {
    try row.withBytes(at: 1) { id in
      Result {
        try row.withBytes(at: 2) { value in
          (
            StoredEntry.Page(id: Data(id), value: Data(value)),
            XXH128(pageID: id, value: value)
          )
        }
      }
    }.get()
  }
}

extension SQLiteStatement {
  /// A date, or nil for a NULL.
  fileprivate func optionalDate(at index: Int32) throws(StorageError) -> Date? {
    self.isNull(at: index) ? nil : Date(microsecondsSince1970: try self.integer(at: index))
  }
}
