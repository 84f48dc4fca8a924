/// One page of an infinite query.
public struct InfiniteQueryPage<ID: Hashable & Sendable, Value: Sendable>: Sendable, Identifiable {
  /// What identifies the page among the pages of its query.
  public var id: ID

  /// What the page holds.
  public var value: Value

  /// Creates a page.
  ///
  /// - Parameters:
  ///   - id: What identifies the page among the pages of its query.
  ///   - value: What the page holds.
  @inlinable
  public init(id: ID, value: Value) {
    self.id = id
    self.value = value
  }
}

extension InfiniteQueryPage: Equatable where Value: Equatable {}
extension InfiniteQueryPage: Hashable where Value: Hashable {}

/// The pages of an infinite query, in their order.
public typealias InfiniteQueryPages<PageID: Hashable & Sendable, PageValue: Sendable> =
  IdentifiedArrayOf<InfiniteQueryPage<PageID, PageValue>>

/// The pages of the infinite query of the given type.
public typealias InfiniteQueryPagesFor<Query: InfiniteQueryRequest> =
  InfiniteQueryPages<Query.PageID, Query.PageValue>
