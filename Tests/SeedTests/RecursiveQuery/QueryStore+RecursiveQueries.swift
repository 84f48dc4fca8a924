import Query

// Document 004: block 23, and its part of block 31.

extension QueryStore where State: _RecursiveQueryStateProtocol {
  @discardableResult
  func fetchTree(
    for id: State.NodeID,
    using configuration: QueryTaskConfiguration? = nil
  ) async throws -> State.QueryValue {
    var configuration = configuration ?? QueryTaskConfiguration(context: context)
    configuration.context.recursiveValues.nodeId = id
    return try await fetch(using: configuration)
  }
}
