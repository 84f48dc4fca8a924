import Foundation
import Query

extension StoredEntry {
  /// How many bytes a value may have to stand in the row of its entry. SQLite writes a row whole where
  /// its length changes, as with an error: a longer one would fill pages of its own each time.
  static let maximumInlineBytes = 3_000

  /// The entry as it is stored: a large value stands apart, as a page without an id.
  var withLargeValueApart: StoredEntry {
    guard case .value(let data) = self.content, data.count > Self.maximumInlineBytes else {
      return self
    }
    var entry = self
    entry.content = .pages([Page(id: Data(), value: data)], next: nil, previous: nil)
    return entry
  }

  /// The entry as it was before ``withLargeValueApart``.
  var withLargeValue: StoredEntry {
    // The pages of an infinite query are pages, whatever its coder makes of their ids.
    guard self.kind != "infinite", case .pages(let pages, nil, nil) = self.content,
      pages.count == 1, pages[0].id.isEmpty
    else { return self }
    var entry = self
    entry.content = .value(pages[0].value)
    return entry
  }
}

extension EntryRow {
  /// Makes the row of an entry, without number, revision and use.
  ///
  /// - Parameters:
  ///   - entry: The entry.
  ///   - identity: What it is stored under.
  ///   - hash: The hash of the identity's text.
  ///   - partition: The number of the partition.
  ///   - pages: The checksums of its pages, where it has some.
  init(
    _ entry: StoredEntry,
    identity: QueryIdentity,
    hash: XXH128,
    partition: Int64,
    pages: [XXH128]
  ) {
    let history = entry.history
    let errorBytes = history.error.map { $0.typeName.utf8.count + $0.text.utf8.count } ?? 0
    self.init(
      partition: partition,
      hash: hash,
      identity: identity.text,
      revision: 0,
      kind: entry.kind,
      coder: entry.coder,
      valueVersion: Int64(entry.version),
      valueUpdatedAt: history.valueLastUpdatedAt?.microsecondsSince1970,
      valueUpdateCount: Int64(history.valueUpdateCount),
      errorUpdatedAt: history.errorLastUpdatedAt?.microsecondsSince1970,
      errorUpdateCount: Int64(history.errorUpdateCount),
      errorType: history.error?.typeName,
      errorText: history.error?.text,
      isInvalidated: history.isInvalidated,
      isPinned: entry.isPinned,
      expiresAt: entry.expiresAt?.microsecondsSince1970,
      byteCount: Int64(identity.text.utf8.count + errorBytes + entry.contentSize)
    )
    self.setContent(entry.content, pages)
  }

  private mutating func setContent(_ content: StoredEntry.Content, _ pages: [XXH128]) {
    switch content {
    case .none: break
    case .value(let value):
      self.value = value
      self.checksum = XXH128(hashing: value)
    case .pages(_, let next, let previous):
      self.nextPageID = next
      self.previousPageID = previous
      self.checksum = XXH128(pages: pages, next: next, previous: previous)
    }
  }

  /// Whether it is another row in nothing but number, revision, use, and the value's bytes, which the
  /// checksum stands for.
  func hasSameContent(as other: EntryRow) -> Bool {
    var row = self
    row.id = other.id
    row.revision = other.revision
    row.lastUse = other.lastUse
    row.value = other.value
    return row == other
  }

  /// Whether the value is that of another row, in the same coding.
  func hasSameValue(as other: EntryRow) -> Bool {
    self.checksum == other.checksum && self.kind == other.kind && self.coder == other.coder
      && self.valueVersion == other.valueVersion
  }
}
