/// Lists the queries of a pack: requests, infinite queries with `pages(_:)`, conditions and loops.
///
/// ```swift
/// try await client.keep("area-7") {
///   NotesQuery(area: 7).pages(.all)
///   for id in ids { PhotoQuery(id: id) }
/// }
/// ```
@resultBuilder
public enum PackBuilder {
  /// A query.
  public static func buildExpression<Query: QueryRequest>(_ query: Query) -> [PackMember]
  where Query.State == QueryState<Query.Value?, Query.Value>, Query.Value: Codable {
    [PackMember(query) { QueryState(initialValue: nil) }]
  }

  /// A query with a default value.
  public static func buildExpression<Query: _DefaultValueRequest>(_ query: Query) -> [PackMember]
  where Query.State: PersistableQueryState {
    [PackMember(query) { query._defaultState }]
  }

  /// Pages of an infinite query.
  public static func buildExpression<Query: InfiniteQueryRequest>(
    _ pages: PackedPages<Query>
  ) -> [PackMember] where Query.PageID: Codable, Query.PageValue: Codable {
    [PackMember(pages.query, pages.pages)]
  }

  /// Not without a number of pages.
  @available(*, unavailable, message: "Say how many pages: pages(.all), or pages(.first(20)).")
  public static func buildExpression<Query: InfiniteQueryRequest>(_ query: Query) -> [PackMember] {
    []
  }

  /// A list that was made before.
  public static func buildExpression(_ members: [PackMember]) -> [PackMember] { members }

  /// The members of the lines, in their order.
  public static func buildBlock(_ members: [PackMember]...) -> [PackMember] {
    members.flatMap { $0 }
  }

  /// The members of each turn of a loop.
  public static func buildArray(_ members: [[PackMember]]) -> [PackMember] {
    members.flatMap { $0 }
  }

  /// The members of a branch, if it is taken.
  public static func buildOptional(_ members: [PackMember]?) -> [PackMember] { members ?? [] }

  /// The members of the first of two branches.
  public static func buildEither(first members: [PackMember]) -> [PackMember] { members }

  /// The members of the second of two branches.
  public static func buildEither(second members: [PackMember]) -> [PackMember] { members }

  /// The members of a branch that not every system takes.
  public static func buildLimitedAvailability(_ members: [PackMember]) -> [PackMember] { members }
}

/// Pages of an infinite query, for a pack.
public struct PackedPages<Query: InfiniteQueryRequest>: Sendable {
  let query: Query
  let pages: PackPages
}

extension InfiniteQueryRequest {
  /// Says how many pages of this query a pack keeps. Those that are stored beyond that stay, too.
  ///
  /// - Parameter pages: How many.
  /// - Precondition: A number of pages is 1 or more.
  public func pages(_ pages: PackPages) -> PackedPages<Self> {
    if case .first(let count) = pages {
      precondition(
        count > 0, "\(self._debugTypeName): pages(.first(_:)) takes 1 or more; got \(count).")
    }
    return PackedPages(query: self, pages: pages)
  }
}
