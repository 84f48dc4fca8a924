public import FoundationEssentials

/// The stored form of an infinite query: its pages, and the ids of those that come next.
public struct PersistedPages<PageID: Hashable & Codable & Sendable, PageValue: Codable & Sendable>:
  Codable, Sendable
{
  var pages: InfiniteQueryPages<PageID, PageValue>
  var nextPageId: PageID?
  var previousPageId: PageID?

  init(
    pages: InfiniteQueryPages<PageID, PageValue>,
    nextPageId: PageID?,
    previousPageId: PageID?
  ) {
    self.pages = pages
    self.nextPageId = nextPageId
    self.previousPageId = previousPageId
  }

  private enum Key: CodingKey {
    case ids
    case values
    case next
    case previous
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let ids = try container.decode([PageID].self, forKey: .ids)
    let values = try container.decode([PageValue].self, forKey: .values)
    self.init(
      pages: try Self.pages(zip(ids, values).map { InfiniteQueryPage(id: $0, value: $1) }),
      nextPageId: try container.decodeIfPresent(PageID.self, forKey: .next),
      previousPageId: try container.decodeIfPresent(PageID.self, forKey: .previous))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(self.pages.map(\.id), forKey: .ids)
    try container.encode(self.pages.map(\.value), forKey: .values)
    try container.encodeIfPresent(self.nextPageId, forKey: .next)
    try container.encodeIfPresent(self.previousPageId, forKey: .previous)
  }

  static func pages(
    _ list: [InfiniteQueryPage<PageID, PageValue>]
  ) throws -> InfiniteQueryPages<PageID, PageValue> {
    var pages = InfiniteQueryPages<PageID, PageValue>()
    for page in list {
      guard !pages.contains(id: page.id) else { throw DuplicatePage() }
      pages.append(page)
    }
    return pages
  }
}

/// Thrown if two stored pages have the same id.
private struct DuplicatePage: Error, CustomStringConvertible {
  var description: String { "two of its pages have the same id" }
}

extension InfiniteQueryState: PersistableQueryState
where PageID: Codable, PageValue: Codable {
  public static var persistedKind: String { "infinite" }

  /// The pages, if they are more than what the state started with.
  public var persistedValue: PersistedPages<PageID, PageValue>? {
    guard self._updates.valueUpdateCount > 0 else { return nil }
    return PersistedPages(
      pages: self._currentValue,
      nextPageId: self._nextPageId,
      previousPageId: self._previousPageId)
  }

  public mutating func restore(
    _ value: PersistedPages<PageID, PageValue>?,
    history: UpdateHistory
  ) {
    self._updates = UpdateRecord(history)
    self._currentValue = value?.pages ?? self.initialValue
    self._nextPageId = value?.nextPageId
    self._previousPageId = value?.previousPageId
  }

  /// A piece for each page.
  public static func _content(
    of value: PersistedPages<PageID, PageValue>,
    using coder: any QueryCoder
  ) throws -> StoredEntry.Content {
    var pages = [StoredEntry.Page]()
    pages.reserveCapacity(value.pages.count)
    for page in value.pages {
      pages.append(
        StoredEntry.Page(id: try coder.encode(page.id), value: try coder.encode(page.value)))
    }
    return .pages(
      pages,
      next: try value.nextPageId.map { try coder.encode($0) },
      previous: try value.previousPageId.map { try coder.encode($0) })
  }

  public static func _pageKeys(of value: PersistedPages<PageID, PageValue>) -> [_PageKey] {
    value.pages.map { _PageKey.of($0.id) }
  }

  public static func _value(
    from content: StoredEntry.Content,
    using coder: any QueryCoder,
    upgrade: ((Data) throws -> Data)?
  ) throws -> PersistedPages<PageID, PageValue>? {
    guard case .pages(let stored, let next, let previous) = content else {
      if case .none = content { return nil }
      throw UnexpectedContent()
    }
    var list = [InfiniteQueryPage<PageID, PageValue>]()
    list.reserveCapacity(stored.count)
    for page in stored {
      let data = try upgrade?(page.value) ?? page.value
      list.append(
        InfiniteQueryPage(
          id: try coder.decode(PageID.self, from: page.id),
          value: try coder.decode(PageValue.self, from: data)))
    }
    return PersistedPages(
      pages: try PersistedPages.pages(list),
      nextPageId: try next.map { try coder.decode(PageID.self, from: $0) },
      previousPageId: try previous.map { try coder.decode(PageID.self, from: $0) })
  }
}
