import Foundation
import Query
import TestSupport

/// A query that runs a closure, and counts how often: its calls of the network.
struct StoredQuery<Value: Codable & Sendable>: QueryRequest {
  let path: QueryPath
  let calls = Counter()
  private let body: @Sendable (QueryContinuation<Value>) async throws -> Value

  init(
    _ path: QueryPath = ["stored"],
    yielding body: @escaping @Sendable (QueryContinuation<Value>) async throws -> Value
  ) {
    self.path = path
    self.body = body
  }

  init(_ path: QueryPath = ["stored"], _ body: @escaping @Sendable () async throws -> Value) {
    self.init(path, yielding: { _ in try await body() })
  }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) async throws -> Value {
    self.calls.increment()
    return try await self.body(continuation)
  }
}

extension StoredQuery where Value == Int {
  /// A query of a number, 1 unless the test sets another one.
  static var one: StoredQuery<Int> { StoredQuery { 1 } }

  /// A query that fails.
  static var failing: StoredQuery<Int> { StoredQuery { throw TestError("no network") } }
}

/// Pages of text: page *n* is `"page n"`, and there are those from -9 to 9.
struct StoredPages: InfiniteQueryRequest {
  let path: QueryPath
  let initialPageId = 0
  let calls = Counter()
  private let value: @Sendable (Int) async throws -> String

  init(
    _ path: QueryPath = ["pages"],
    value: @escaping @Sendable (Int) async throws -> String = { "page \($0)" }
  ) {
    self.path = path
    self.value = value
  }

  func pageId(
    after page: InfiniteQueryPage<Int, String>,
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? {
    page.id < 9 ? page.id + 1 : nil
  }

  func pageId(
    before page: InfiniteQueryPage<Int, String>,
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? {
    page.id > -9 ? page.id - 1 : nil
  }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    self.calls.increment()
    return try await self.value(paging.pageId)
  }
}

/// The pages that ``StoredPages`` makes of these ids.
func textPages(_ ids: ClosedRange<Int>) -> InfiniteQueryPages<Int, String> {
  InfiniteQueryPages(uniqueElements: ids.map { InfiniteQueryPage(id: $0, value: "page \($0)") })
}
