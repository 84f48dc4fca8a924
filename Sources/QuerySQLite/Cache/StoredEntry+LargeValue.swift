import FoundationEssentials
import Query

extension StoredEntry {
  /// The maximum length of a value that is stored in its entry's row. SQLite rewrites a whole row
  /// if its length changes, as with an error: a longer value would fill overflow pages each time.
  static let maximumInlineBytes = 3_000

  /// The entry as stored: a large value is stored separately, as a page without an ID.
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
    // The pages of an infinite query are pages, whatever IDs its coder makes.
    guard self.kind != "infinite", case .pages(let pages, nil, nil) = self.content,
      pages.count == 1, pages[0].id.isEmpty
    else { return self }
    var entry = self
    entry.content = .value(pages[0].value)
    return entry
  }
}
