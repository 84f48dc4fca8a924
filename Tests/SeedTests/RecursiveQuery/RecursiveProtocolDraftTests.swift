import Query
import TestSupport
import Testing

// Document 004: the protocol of a recursive request as it grows, blocks 11, 13, 14 and 15. Block 17
// is what it ends as.

private enum Block11 {
  protocol RecursiveQueryRequest: QueryRequest {
    associatedtype NodeID: Sendable
  }

  struct CountQuery: RecursiveQueryRequest, Hashable {
    typealias NodeID = Int

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int {
      1
    }
  }
}

private enum Block13 {
  protocol RecursiveQueryRequest: QueryRequest
  where Value: RecursiveValue<NodeID> {
    associatedtype NodeID: Sendable
  }

  struct RootQuery: RecursiveQueryRequest, Hashable {
    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Comment>
    ) async throws -> Comment {
      try await context.commentsAPI.thread(0)
    }
  }
}

private enum Block14 {
  protocol RecursiveQueryRequest: QueryRequest
  where Value: RecursiveValue<NodeID> {
    associatedtype NodeID: Sendable

    func fetchTree(
      for id: NodeID,
      in context: QueryContext,
      with continuation: QueryContinuation<Value>
    ) async throws -> Value
  }

  struct ThreadQuery: RecursiveQueryRequest, Hashable {
    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Comment>
    ) async throws -> Comment {
      try await self.fetchTree(for: 10, in: context, with: continuation)
    }

    func fetchTree(
      for id: Int,
      in context: QueryContext,
      with continuation: QueryContinuation<Comment>
    ) async throws -> Comment {
      try await context.commentsAPI.thread(id)
    }
  }
}

private enum Block15 {
  protocol RecursiveQueryRequest: QueryRequest
  where Value: RecursiveValue<NodeID> {
    associatedtype NodeID: Sendable

    var rootNodeId: NodeID { get }

    func fetchTree(
      for id: NodeID,
      in context: QueryContext,
      with continuation: QueryContinuation<Value>
    ) async throws -> Value
  }

  struct ThreadQuery: RecursiveQueryRequest, Hashable {
    let rootNodeId: Int

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Comment>
    ) async throws -> Comment {
      try await self.fetchTree(for: self.rootNodeId, in: context, with: continuation)
    }

    func fetchTree(
      for id: Int,
      in context: QueryContext,
      with continuation: QueryContinuation<Comment>
    ) async throws -> Comment {
      try await context.commentsAPI.thread(id)
    }
  }
}

@Suite("Document 004: the recursive request as it grows", .warningsAreIssues)
struct RecursiveProtocolDraftTests {
  @Test("Block 11: what inherits from a query request has all that a query has")
  func inheriting() async throws {
    func nodeType<Query: Block11.RecursiveQueryRequest>(_ query: Query) -> Any.Type {
      Query.NodeID.self
    }
    #expect(ObjectIdentifier(nodeType(Block11.CountQuery())) == ObjectIdentifier(Int.self))
    let query = Block11.CountQuery().retry(limit: 1).deduplicated()
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(try await store.fetch() == 1)
    #expect(store.path == [Block11.CountQuery()])
  }

  @Test("Block 13: its value is a tree of its nodes")
  func values() async throws {
    func rootId<Query: Block13.RecursiveQueryRequest>(
      _ query: Query,
      _ value: Query.Value
    ) -> Query.NodeID {
      value.nodeId
    }
    let query = Block13.RootQuery()
    let store = QueryStore.detached(query: query, initialValue: nil)
    let root = try await store.fetch()
    #expect(rootId(query, root) == 0)
    #expect(root.children.map(\.nodeId) == [10, 20])
  }

  @Test("Block 14: it fetches any subtree")
  func subtrees() async throws {
    let query = Block14.ThreadQuery()
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(try await store.fetch().children.map(\.nodeId) == [11, 12])
    #expect(try await self.subtree(of: query, for: 20).children.map(\.nodeId) == [21])
  }

  @Test("Block 15: it knows its root")
  func root() async throws {
    func rootId<Query: Block15.RecursiveQueryRequest>(_ query: Query) -> Query.NodeID {
      query.rootNodeId
    }
    let query = Block15.ThreadQuery(rootNodeId: 20)
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(rootId(query) == 20)
    #expect(try await store.fetch().children.map(\.nodeId) == [21])
  }

  private func subtree<Query: Block14.RecursiveQueryRequest>(
    of query: Query,
    for id: Query.NodeID
  ) async throws -> Query.Value {
    try await query.fetchTree(
      for: id,
      in: QueryContext(),
      with: QueryContinuation { _, _ in }
    )
  }
}
