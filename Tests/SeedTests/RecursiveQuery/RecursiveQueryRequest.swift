import Query

// Document 004: blocks 17 and 25, and their part of block 31.

protocol RecursiveQueryRequest: QueryRequest
where Value: RecursiveValue<NodeID>, State == RecursiveQueryState<Value> {
  associatedtype NodeID: Sendable

  var rootNodeId: NodeID { get }

  func fetchTree(
    for id: NodeID,
    in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) async throws -> Value
}

extension RecursiveQueryRequest {
  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) async throws -> Value {
    if let nodeId = context.recursiveValues.nodeId as? NodeID {
      return try await fetchTree(for: nodeId, in: context, with: continuation)
    } else {
      // If we have no node id in the context (eg. We called `fetch` directly
      // the `QueryStore` instead of `fetchTree`), we'll assume we're refetching
      // from the root.
      return try await fetchTree(for: rootNodeId, in: context, with: continuation)
    }
  }
}
