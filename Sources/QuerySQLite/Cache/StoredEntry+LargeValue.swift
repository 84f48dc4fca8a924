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
