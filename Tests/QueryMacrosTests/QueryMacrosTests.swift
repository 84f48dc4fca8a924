import Query
import QueryMacros
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

extension QueryContext {
  @ContextEntry var sent: Recorder<String>?
  @ContextEntry var greeting = "Hello"
}

@QueryRequest(path: ["posts"])
private func post(id: Int, context: QueryContext) async throws -> String {
  "\(context.greeting) \(id)"
}

@MutationRequest(path: ["create-post"])
private func createPost(title: String, context: QueryContext) async throws -> Int {
  context.sent?.append(title)
  return title.count
}

private enum Posts {
  @QueryRequest(path: { (user: Int) in ["users", user, "posts"] })
  static func all(of user: Int) async -> [Int] { [user] }

  @QueryRequest(path: ["counts"])
  static func count(continuation: QueryContinuation<Int>) async -> Int {
    continuation.yield(1)
    return 2
  }
}

/// What the macros make, compiled by the plugin, with the storage that is shipped.
@Suite(.warningsAreIssues) struct QueryMacrosTests {
  @Test func thePathHoldsTheArguments() async {
    #expect($post(id: 1).path == ["posts", 1])
    #expect($createPost.path == ["create-post"])
    #expect(Posts.$all(of: 7).path == ["users", 7, "posts"])
    #expect(Posts.$count.path == ["counts"])
  }

  @Test func theFunctionRunsWithTheContextOfTheFetch() async throws {
    let store = QueryStore.detached(query: $post(id: 3), initialValue: nil)
    #expect(try await store.fetch() == "Hello 3")
    store.context.greeting = "Bye"
    #expect(try await store.fetch() == "Bye 3")
  }

  @Test func whatIsFetchedAndEnteredIsThereAtTheNextLaunch() async throws {
    let folder = try ScratchFolder()
    let sent = Recorder<String>()
    let network = MockNetworkObserver(initialStatus: .disconnected)
    func launch() throws -> (SQLiteQueryStorage, QueryClient) {
      let storage = try SQLiteQueryStorage(directory: folder.url)
      var context = QueryContext()
      context.sent = sent
      let client = QueryClient(
        storage: storage, defaultContext: context,
        storeCreator: .default(retryLimit: 0, networkObserver: network))
      return (storage, client)
    }
    let create = $createPost.persisted(as: "create-post")

    var (storage, client) = try launch()
    try await client.store(for: $post(id: 1).persisted()).fetch()
    try await client.store(for: create).enqueue(with: "abc")
    try await storage.close()

    (storage, client) = try launch()
    #expect(client.store(for: $post(id: 1).persisted()).currentValue == "Hello 1")
    network.send(status: .connected)
    let replayer = MutationReplayer(client: client)
    try replayer.register(create)
    #expect(try await replayer.replayOnce() == ReplaySummary(succeeded: 1))
    #expect(sent.elements == ["abc"])
    try await storage.close()
  }
}
