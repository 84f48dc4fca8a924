package import FoundationEssentials
import Query
import QuerySQLite

// MARK: - Values

extension StoreInspection {
  /// Id: the columns that ``InspectedEntry/read`` leaves out.
  private static let content = SQL(
    assembling: """
      SELECT e.error_type, e.error_text, e.checksum, e.next_page_id, e.previous_page_id, e.value,
        e.identity, e.kind, e.metadata, \(ConfirmationRow.freshFor)
      FROM entries AS e \(ConfirmationRow.ofEntry) WHERE e.id = ?
      """)

  /// Entry: its pages in order. Position, date, checksum, page id, value, metadata.
  private static let pages: SQL = """
    SELECT position, updated_at, checksum, page_id, value, metadata FROM pages WHERE entry = ?
    ORDER BY position
    """

  /// Entry, position.
  private static let pageValue: SQL = "SELECT value FROM pages WHERE entry = ? AND position = ?"

  /// Reads an entry with its value. The values of pages are read and checked one at a time, and not
  /// kept.
  ///
  /// - Parameters:
  ///   - name: The prefix of a hash, or a whole identity.
  ///   - partition: The account; nil: any.
  /// - Throws: `InspectionError`: not found, ambiguous, and the errors of reading.
  package func value(
    named name: String, in partition: String? = nil
  ) throws(InspectionError) -> InspectedValue {
    let entry = try self.entry(named: name, in: partition)
    let value = try self.cacheFile.read { try Self.value(of: entry.id, on: $0) }
    guard let value else { throw .notFound("entry \(name)") }
    return value
  }

  /// Reads an entry with its value, in the open transaction.
  static func value(of id: Int64, on connection: SQLiteConnection) throws -> InspectedValue? {
    guard let entry = try Self.entry(id, on: connection) else { return nil }
    let scan = try Self.scanPages(of: id, entry.kind, on: connection)
    let value = try connection.first(Self.content, id) { row in
      let checksum = row.isNull(at: 2) ? nil : try row.hash(at: 2)
      let (next, previous) = (try row.optionalData(at: 3), try row.optionalData(at: 4))
      let inline = try row.optionalData(at: 5)
      let metadata = try row.optionalData(at: 8)
      var isSound = scan.pages.allSatisfy { $0.isSound } && scan.isLargeSound
      isSound = isSound && XXH128(hashing: entry.identity) == entry.hash.bytes
      switch (checksum, inline) {
      case (nil, nil): isSound = isSound && scan.checksums.isEmpty && metadata == nil
      case (let checksum?, let inline?):
        isSound =
          isSound && XXH128(hashing: inline).covering(metadata) == checksum
          && scan.checksums.isEmpty
      case (let checksum?, nil):
        let whole = XXH128(pages: scan.checksums, next: next, previous: previous)
        isSound = isSound && whole.covering(metadata) == checksum
      case (nil, _?): isSound = false
      }
      return InspectedValue(
        entry: entry, errorType: try row.optionalText(at: 0),
        errorText: try row.optionalText(at: 1),
        checksum: checksum.map { InspectedHash($0) }, isSound: isSound, nextPageID: next,
        previousPageID: previous, pages: scan.pages, value: inline ?? scan.largeValue,
        metadata: metadata, freshFor: try row.optionalInteger(at: 9))
    }
    return value
  }

  /// The result of reading an entry's pages.
  private struct PageScan {
    var pages = [InspectedPage]()
    var checksums = [XXH128]()
    /// The value of an entry that is too large for its row.
    var largeValue: Data?
    var isLargeSound = true
  }

  private static func scanPages(
    of entry: Int64, _ kind: String, on connection: SQLiteConnection
  ) throws -> PageScan {
    var scan = PageScan()
    try connection.withStatement(Self.pages) { row in
      try row.bindAll(entry)
      while try row.step() {
        let id = try row.data(at: 3)
        let metadata = try row.optionalData(at: 5)
        let checksum = try row.withBytes(at: 4) { value in
          id.withUnsafeBytes { XXH128(pageID: $0, value: value).covering(metadata) }
        }
        let isSound = try row.hash(at: 2) == checksum
        if kind != "infinite", id.isEmpty, scan.checksums.isEmpty {
          scan.largeValue = try row.data(at: 4)
          scan.isLargeSound = isSound
        } else {
          let size = try row.withBytes(at: 4) { $0.count }
          scan.pages.append(
            InspectedPage(
              index: scan.pages.count, position: try row.integer(at: 0), pageID: id,
              byteCount: size, updatedAt: try row.integer(at: 1), isSound: isSound,
              metadata: metadata))
        }
        scan.checksums.append(checksum)
      }
    }
    return scan
  }
}

// MARK: - Pages

extension StoreInspection {
  /// Reads the value of a page.
  ///
  /// - Parameters:
  ///   - page: One of ``InspectedValue/pages``.
  ///   - entry: The page's entry.
  /// - Throws: `InspectionError`: not found if it is gone, and the errors of reading.
  package func value(
    of page: InspectedPage, in entry: InspectedEntry
  ) throws(InspectionError) -> Data {
    let value = try self.cacheFile.read { connection in
      try connection.first(Self.pageValue, entry.id, page.position) { try $0.data(at: 0) }
    }
    guard let value else { throw .notFound("page \(page.index) of \(entry.hash.short)") }
    return value
  }
}
