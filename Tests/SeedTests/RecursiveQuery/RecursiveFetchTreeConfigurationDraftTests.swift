import Query
import TestSupport
import Testing

// Document 004: the second version of `fetchTree`, block 21.

extension QueryStore where State: RecursiveDraft._RecursiveQueryStateProtocol {
  fileprivate func fetchTree(
    for id: State.NodeID,
    using configuration: QueryTaskConfiguration? = nil
  ) async throws -> State.QueryValue {
    var configuration = configuration ?? QueryTaskConfiguration(context: context)
    // More to come...
    configuration.name = "\(configuration.name ?? "Fetch Tree") for \(id)"
    return try await fetch(using: configuration)
  }
}

@Suite("Document 004: fetchTree, its configuration", .warningsAreIssues)
struct RecursiveFetchTreeConfigurationDraftTests {
  @Test("Block 21: the configuration is the caller's, or one with the context of the store")
  func configuration() async throws {
    let api = CommentsAPI()
    let store = DraftThreadQuery.store(api)
    let collector = EventCollector<DraftThreadQuery.State>()
    let subscription = store.subscribe(with: collector.handler)

    _ = try await store.fetchTree(for: 10)
    _ = try await store.fetchTree(for: 20, using: QueryTaskConfiguration(name: "Mine"))

    let names = collector.contexts(of: .fetchingStarted).map { $0.queryTaskConfiguration.name }
    #expect(names == ["Fetch Tree for 10", "Mine for 20"])
    // Both had the context of the store, and so its API.
    #expect(api.calls.elements == [0, 0])
    subscription.cancel()
  }
}
