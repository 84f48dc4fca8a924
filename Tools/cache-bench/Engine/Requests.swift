import Query

/// A query that has its value at once: its own number.
struct NumberQuery: QueryRequest, Hashable {
  let number: Int

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int { self.number }
}

/// A query of a group; the group's number begins their paths.
struct GroupedQuery: QueryRequest {
  let group: Int
  let number: Int

  var path: QueryPath { [Self.name(ofGroup: self.group), self.number] }

  static func name(ofGroup group: Int) -> String { "group \(group)" }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int { self.number }
}

/// An endless list, whose pages are there at once.
struct NumberPages: InfiniteQueryRequest, Hashable {
  let initialPageId = 0

  func pageId(
    after page: InfiniteQueryPage<Int, Int>,
    using paging: InfiniteQueryPaging<Int, Int>,
    in context: QueryContext
  ) -> Int? { page.id + 1 }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, Int>,
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int { paging.pageId * 2 }
}

/// A mutation that has its value at once: twice its arguments.
struct Doubling: MutationRequest, Hashable {
  func mutate(
    with arguments: Int,
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int { arguments * 2 }
}

extension QueryClient {
  /// A client as applications have it, but without observers: memory pressure would drop idle
  /// stores in the middle of a round.
  ///
  /// - Parameter storage: The storage of its persisted queries.
  static func withoutObservers(storage: (any QueryStorage)? = nil) -> QueryClient {
    QueryClient(
      storage: storage,
      storeCache: DefaultStoreCache(memoryPressureSource: nil),
      storeCreator: .default(networkObserver: nil, activityObserver: nil)
    )
  }
}
