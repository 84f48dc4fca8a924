import FoundationEssentials

/// What a store keeps beside its value, and forgets with it: metadata, and how long the value is fresh.
@usableFromInline
final class ValueRecord: Sendable {
  /// How many bytes of metadata a value may have, and each page by itself.
  package static let maximumMetadataBytes = 4 << 10

  /// What the request wants to find again with the value; nil: nothing.
  let metadata: Data?
  /// How old the value may be before it is stale; nil: the request's modifiers say it.
  let freshFor: Duration?
  /// The metadata of the pages that have some.
  let pages: [_PageKey: Data]
  /// Whether the value may be written to a storage.
  let isStored: Bool

  private init(
    _ metadata: Data?, _ freshFor: Duration?, _ pages: [_PageKey: Data], isStored: Bool
  ) {
    self.metadata = metadata
    self.freshFor = freshFor
    self.pages = pages
    self.isStored = isStored
  }

  /// - Returns: nil if there is nothing to keep.
  static func of(
    _ metadata: Data?, freshFor: Duration?, pages: [_PageKey: Data] = [:], isStored: Bool = true
  ) -> ValueRecord? {
    if metadata == nil, freshFor == nil, pages.isEmpty, isStored { return nil }
    return ValueRecord(metadata, freshFor, pages, isStored: isStored)
  }
}

/// Tells the values that a store has had from one another, with what is kept beside the newest.
@usableFromInline
struct ValueTag: Sendable {
  /// Raised by each new value, not by one that was confirmed.
  @usableFromInline var number = 0
  @usableFromInline var record: ValueRecord?

  @inlinable
  init() {}

  /// Records that another value has come.
  @inlinable
  mutating func replace(_ record: ValueRecord? = nil) {
    self.number &+= 1
    // As a rule there is none, before and after.
    if record != nil || self.record != nil { self.record = record }
  }
}

/// What was kept beside a value that a yield has replaced as the beginning of more.
@usableFromInline
struct ReplacedRecord: Sendable {
  /// The number of the ``ValueTag`` of the last such yield: any other value is not that beginning.
  let yield: Int
  let record: ValueRecord?

  /// The same behind another yield.
  @usableFromInline
  func behind(_ tag: ValueTag) -> ReplacedRecord {
    ReplacedRecord(yield: tag.number, record: self.record)
  }
}

/// The id of a page, of whatever type: those of one query are of the same.
// @unchecked: it has no variables.
public class _PageKey: Hashable, @unchecked Sendable {
  fileprivate init() {}

  @usableFromInline
  static func of(_ id: some Hashable & Sendable) -> _PageKey { TypedPageKey(id) }

  /// The id, if it is of a type.
  func id<ID: Hashable & Sendable>(of type: ID.Type) -> ID? { (self as? TypedPageKey<ID>)?.id }

  fileprivate func isEqual(to other: _PageKey) -> Bool { self === other }

  public static func == (one: _PageKey, other: _PageKey) -> Bool { one.isEqual(to: other) }

  public func hash(into hasher: inout Hasher) {}
}

/// Not an `AnyHashable`, which asks each id whether its type has a representation of its own, for each page that is
/// fetched.
// @unchecked: its superclass is; it has no variables either.
private final class TypedPageKey<ID: Hashable & Sendable>: _PageKey, @unchecked Sendable {
  let id: ID

  init(_ id: ID) {
    self.id = id
    super.init()
  }

  override func isEqual(to other: _PageKey) -> Bool { other.id(of: ID.self) == self.id }

  override func hash(into hasher: inout Hasher) { hasher.combine(self.id) }
}

/// The pages that a fetch of an infinite query has brought.
public struct _FetchedPages: Sendable {
  let ids: [_PageKey]
  /// Whether they are all pages that there are.
  let isWhole: Bool
  /// Whether the state had just these, in this order and with the same ends.
  let isSameList: Bool
}
