import FoundationEssentials
import Query

// The pages of one entry, of an infinite query or of a value that is too large for its row.

/// The parts read beside a ``StoredEntry`` whose value is in pages.
struct EntryHeader {
  let id: Int64
  let checksum: XXH128
  let next: Data?
  let previous: Data?
  let metadata: Data?
}

// MARK: - Writing

extension PagePlan.Wanted {
  /// What a page of an entry should be.
  init(_ page: StoredEntry.Page) {
    self.init(
      checksum: XXH128(pageID: page.id, value: page.value).covering(page.metadata),
      pageID: page.id)
  }
}

extension CacheChanges {
  /// Changes the stored pages of an entry to the wanted ones. Stored values are not read.
  func writePages(of entry: PreparedEntry, hadPages: Bool) throws {
    let id = entry.row.id
    guard let pages = entry.pages else {
      if hadPages { try self.connection.execute(PageRow.deleteAll, id) }
      return
    }
    let stored = try self.connection.rows(PageRow.readStamps, id) { row in
      PagePlan.Stored(
        position: try row.integer(at: 0), checksum: try row.hash(at: 1),
        pageID: try row.data(at: 2))
    }
    let plan = PagePlan(from: stored, to: entry.wantedPages)
    for position in plan.deletions {
      try self.connection.execute(PageRow.delete, id, position)
    }
    for write in plan.writes {
      let page = pages[write.index]
      try PageRow(
        entry: id, position: write.position, updatedAt: entry.row.valueUpdatedAt ?? 0,
        checksum: entry.wantedPages[write.index].checksum, pageID: page.id, value: page.value,
        metadata: page.metadata
      ).write(to: self.connection)
    }
  }
}

// MARK: - Reading

extension CacheTables {
  /// Reads the pages of an entry, and checks that none is missing or damaged.
  func readPages(of entry: StoredEntry, _ header: EntryHeader) throws -> CacheReading {
    var checksums = [XXH128]()
    let pages = try self.connection.rows(PageRow.readContents, header.id) { row in
      let page = try Self.page(row)
      checksums.append(page.checksum)
      return (content: page.content, isSound: page.checksum == (try row.hash(at: 0)))
    }
    let checksum = XXH128(pages: checksums, next: header.next, previous: header.previous)
    guard checksum.covering(header.metadata) == header.checksum, pages.allSatisfy(\.isSound) else {
      return .wrongChecksum(revision: entry.revision)
    }
    var entry = entry
    entry.content = .pages(
      pages.map(\.content), next: header.next, previous: header.previous)
    entry.metadata = header.metadata
    entry.contentMark = StoredContentMark(
      checksum, byteCount: entry.contentSize, next: header.next, previous: header.previous)
    return .entry(entry.withLargeValue)
  }

  private static func page(
    _ row: SQLiteStatement
  ) throws -> (content: StoredEntry.Page, checksum: XXH128) {
    let metadata = try row.optionalData(at: 3)
    return try row.withBytes(at: 1) { id in
      Result {
        try row.withBytes(at: 2) { value in
          (
            StoredEntry.Page(id: Data(id), value: Data(value), metadata: metadata),
            XXH128(pageID: id, value: value).covering(metadata)
          )
        }
      }
    }.get()
  }
}
