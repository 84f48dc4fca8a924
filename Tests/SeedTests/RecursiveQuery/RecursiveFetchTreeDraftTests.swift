import Query
import TestSupport
import Testing

// Document 004: the first version of `fetchTree`, block 20.

extension QueryStore where State: RecursiveDraft._RecursiveQueryStateProtocol {
  fileprivate func fetchTree(
    for id: State.NodeID,
    using configuration: QueryTaskConfiguration? = nil
  ) async throws -> State.QueryValue {
    // ...
    try await fetch(using: configuration)
  }
}

@Suite("Document 004: fetchTree, its signature", .warningsAreIssues)
struct RecursiveFetchTreeDraftTests {
  @Test("Block 20: fetch is for all of the data, and knows nothing of a node")
  func fetchTree() async throws {
    let api = CommentsAPI()
    let store = DraftThreadQuery.store(api)
    #expect(try await store.fetchTree(for: 10).nodeId == 0)
    #expect(api.calls.elements == [0])
  }
}
