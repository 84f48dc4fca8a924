import FoundationEssentials
import Query
import QuerySQLite

/// An entry of `cache.sqlite` in an export: a line for it, and one for each page.
enum ExportedEntry {
  /// An entry that is not exported, since its bytes are not those that were stored.
  struct Damaged: Error, CustomStringConvertible {
    let description: String
  }

  /// Id: all columns but those that a store assigns.
  private static let read = SQL(
    assembling: """
      SELECT e.kind, e.coder, e.value_version, \(ConfirmationRow.updatedAt),
        \(ConfirmationRow.updateCount), e.error_updated_at, e.error_update_count,
        e.invalidated_at > 0, e.is_pinned, e.expires_at, e.identity, e.error_type, e.error_text,
        e.next_page_id, e.previous_page_id, e.value, \(ConfirmationRow.freshFor), e.metadata,
        e.checksum
      FROM entries AS e \(ConfirmationRow.ofEntry) WHERE e.id = ?
      """)

  /// Entry, in order.
  private static let readPages: SQL = """
    SELECT updated_at, page_id, value, metadata FROM pages WHERE entry = ? ORDER BY position
    """

  /// The names in a line, and the types of the columns, in the order of ``read``.
  static let columns: [ExportTable.Column] = [
    .text("kind"), .text("coder"), .integer("version"), .integer("valueUpdatedAt").orNull,
    .integer("valueUpdateCount"), .integer("errorUpdatedAt").orNull, .integer("errorUpdateCount"),
    .integer("isInvalidated"), .integer("isPinned"), .integer("expiresAt").orNull,
    .text("identity"), .text("errorType").orNull, .text("errorText").orNull,
    .bytes("nextPageID").orNull, .bytes("previousPageID").orNull, .bytes("value").orNull,
    .integer("freshFor").orNull, .bytes("metadata").orNull,
  ]

  /// The names in the line of a page.
  static let pageColumns: [ExportTable.Column] = [
    .integer("updatedAt"), .bytes("id"), .bytes("value"), .bytes("metadata").orNull,
  ]

  /// Reads an entry.
  ///
  /// - Parameter bytes: Incremented by the bytes of the values read.
  /// - Returns: Its lines; none if the entry is gone.
  /// - Throws: `StorageError` if the file is damaged.
  static func lines(
    of id: Int64, bytes: inout Int, on connection: SQLiteConnection
  ) throws -> Result<[ExportLine], Damaged> {
    do {
      guard let content = try EntryContent(id, on: connection) else { return .success([]) }
      if let fault = content.faults.first(where: { $0.kind != .wrongSize }) {
        return .failure(Damaged(description: "entry \(content.hash.short): \(fault.message)"))
      }
    } catch let error as StorageError where error.code == .mismatch {
      return .failure(Damaged(description: "entry in row \(id): \(error.message)"))
    }
    let entry = try connection.first(Self.read, id) { row in
      var line = ExportLine(.entry, try ExportTable.values(of: Self.columns, row))
      line.values["hasValue"] = .integer(row.isNull(at: Int32(Self.columns.count)) ? 0 : 1)
      return line
    }
    guard var entry else { return .success([]) }
    let pages = try connection.rows(Self.readPages, id) { row in
      ExportLine(.page, try ExportTable.values(of: Self.pageColumns, row))
    }
    entry.values["pages"] = .integer(Int64(pages.count))
    let lines = [entry] + pages
    for line in lines {
      bytes += ["value", "metadata"].reduce(0) { $0 + (line.text($1)?.utf8.count ?? 0) }
    }
    return .success(lines)
  }
}

// MARK: - From lines

/// An entry of an export as it is imported into a store.
struct ImportedEntry {
  /// The entry; the import assigns number, partition and revision.
  var row: EntryRow
  /// Its pages; the import assigns the entry and the position.
  var pages: [PageRow]

  /// Reads the lines of an entry; nil if they are malformed.
  init?(_ entry: ExportLine, _ pages: [ExportLine]) {
    var line = entry
    let count = line.integer("pages")
    let hasValue = line.integer("hasValue")
    (line.values["pages"], line.values["hasValue"]) = (nil, nil)
    guard count == Int64(pages.count), hasValue == 0 || hasValue == 1,
      ExportTable.values(of: ExportedEntry.columns, line) != nil,
      let identity = line.text("identity"), let kind = line.text("kind"),
      let coder = line.text("coder"), let version = line.integer("version"),
      let updates = line.integer("valueUpdateCount"),
      let failures = line.integer("errorUpdateCount"),
      let isInvalidated = line.integer("isInvalidated"), let isPinned = line.integer("isPinned"),
      updates >= 0, failures >= 0
    else { return nil }
    let rows = pages.compactMap { Self.page($0) }
    guard rows.count == pages.count else { return nil }
    self.pages = rows
    self.row = EntryRow(identity: identity, kind: kind, coder: coder, valueVersion: version)
    self.row.valueUpdatedAt = line.integer("valueUpdatedAt")
    self.row.valueUpdateCount = updates
    self.row.errorUpdatedAt = line.integer("errorUpdatedAt")
    self.row.errorUpdateCount = failures
    self.row.errorType = line.text("errorType")
    self.row.errorText = line.text("errorText")
    // The clock of another machine or boot says nothing here.
    self.row.invalidatedAt = isInvalidated != 0 ? 1 : 0
    self.row.isPinned = isPinned != 0
    self.row.expiresAt = line.integer("expiresAt")
    self.row.nextPageID = line.bytes("nextPageID")
    self.row.previousPageID = line.bytes("previousPageID")
    self.row.value = line.bytes("value")
    self.row.freshFor = line.integer("freshFor")
    self.row.metadata = line.bytes("metadata")
    self.finish(hasValue: hasValue == 1)
    if hasValue == 0, self.row.value != nil || self.row.metadata != nil || !rows.isEmpty {
      return nil
    }
  }

  private static func page(_ line: ExportLine) -> PageRow? {
    guard line.kind == .page, ExportTable.values(of: ExportedEntry.pageColumns, line) != nil,
      let id = line.bytes("id"), let value = line.bytes("value"),
      let updatedAt = line.integer("updatedAt")
    else { return nil }
    var page = PageRow(pageID: id, value: value, updatedAt: updatedAt)
    page.metadata = line.bytes("metadata")
    page.checksum = page.checksum.covering(page.metadata)
    return page
  }

  /// Counts the bytes, and computes the checksum.
  private mutating func finish(hasValue: Bool) {
    var size = self.row.identity.utf8.count
    size += (self.row.errorType?.utf8.count ?? 0) + (self.row.errorText?.utf8.count ?? 0)
    size += (self.row.nextPageID?.count ?? 0) + (self.row.previousPageID?.count ?? 0)
    size += (self.row.value?.count ?? 0) + (self.row.metadata?.count ?? 0)
    for (index, page) in self.pages.enumerated() {
      self.pages[index].position = Int64(index) * PageRow.gap
      size += page.pageID.count + page.value.count + (page.metadata?.count ?? 0)
    }
    self.row.byteCount = Int64(size)
    guard hasValue else { return }
    let content =
      self.row.value.map { XXH128(hashing: $0) }
      ?? XXH128(
        pages: self.pages.map(\.checksum), next: self.row.nextPageID,
        previous: self.row.previousPageID)
    self.row.checksum = content.covering(self.row.metadata)
  }
}
