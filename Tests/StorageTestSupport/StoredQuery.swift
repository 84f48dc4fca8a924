import Foundation
package import Query
package import TestSupport

/// A query that runs a closure, and counts how often: its calls of the network.
package struct StoredQuery<Value: Codable & Sendable>: QueryRequest {
  package let path: QueryPath
  package let calls = Counter()
  private let body: @Sendable (QueryContinuation<Value>) async throws -> Value

  package init(
    _ path: QueryPath = ["stored"],
    yielding body: @escaping @Sendable (QueryContinuation<Value>) async throws -> Value
  ) {
    self.path = path
    self.body = body
  }

  package init(_ path: QueryPath = ["stored"], _ body: @escaping @Sendable () async throws -> Value)
  {
    self.init(path, yielding: { _ in try await body() })
  }

  package func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) async throws -> Value {
    self.calls.increment()
    return try await self.body(continuation)
  }
}

extension StoredQuery where Value == Int {
  /// A query of a number, 1 unless the test sets another one.
  package static var one: StoredQuery<Int> { StoredQuery { 1 } }

  /// A query that fails.
  package static var failing: StoredQuery<Int> { StoredQuery { throw TestError("no network") } }
}

/// Pages of text: page *n* is `"page n"`, and there are those from -9 to 9.
package struct StoredPages: InfiniteQueryRequest {
  package let path: QueryPath
  package let initialPageId = 0
  package let calls = Counter()
  private let value: @Sendable (Int) async throws -> String

  package init(
    _ path: QueryPath = ["pages"],
    value: @escaping @Sendable (Int) async throws -> String = { "page \($0)" }
  ) {
    self.path = path
    self.value = value
  }

  package func pageId(
    after page: InfiniteQueryPage<Int, String>,
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? {
    page.id < 9 ? page.id + 1 : nil
  }

  package func pageId(
    before page: InfiniteQueryPage<Int, String>,
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? {
    page.id > -9 ? page.id - 1 : nil
  }

  package func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    self.calls.increment()
    return try await self.value(paging.pageId)
  }
}

/// The pages that ``StoredPages`` makes of these ids.
package func textPages(_ ids: ClosedRange<Int>) -> InfiniteQueryPages<Int, String> {
  InfiniteQueryPages(uniqueElements: ids.map { InfiniteQueryPage(id: $0, value: "page \($0)") })
}
