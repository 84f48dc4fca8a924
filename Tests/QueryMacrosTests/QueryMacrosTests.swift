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

extension QueryPath {
  fileprivate static let settings: QueryPath = ["settings"]
}

private struct Value: Hashable {
  var size = 3
}

private let defaultValue = 5

// The members of the key have these names.
extension QueryContext {
  static let standardSize = 4
  @ContextEntry var standard = Self.standardSize
  @ContextEntry var own = defaultValue
  @ContextEntry fileprivate var value = Value()
  @ContextEntry nonisolated var typeName = String(describing: Self.self)
}

@QueryRequest(path: ["written"])
nonisolated(nonsending) private func written(
  _ first: consuming String, `default`: Int!, `await`: sending Int, context: (QueryContext)
) async -> sending String! {
  "\(first) \(`default` ?? 0) \(`await`) \(context.own)"
}

private let version = "v1"

@QueryRequest(path: .settings)
private func setting(_ key: String, default: Int, _ in: Int, hint _: Int) async -> Int {
  `default` + `in`
}

@QueryRequest(path: { (default: Int, in: Int) in ["sums", `in`, `default`] })
private func sum(default: Int, in: Int) async -> Int { `default` + `in` }

@QueryRequest(path: [version])
private func change(version: Int) async -> Int { version }

private class Shape {
  class var kind: String { "shape" }

  @QueryRequest(path: ["kind"])
  static func read() async -> String { Self.kind }

  @QueryRequest(path: ["kind", Self.kind])
  static func readOwn() async -> String { Self.kind }
}

extension Shape {
  @QueryRequest(path: ["kind", "extended"])
  static func readExtended() async -> String { Self.kind }

  @MutationRequest(path: ["draw"])
  static func draw(times: Int) async -> Int { times }
}

private final class Circle: Shape {
  override class var kind: String { "circle" }
}

/// What the macros make, compiled by the plugin, with the storage that is shipped.
@Suite(.warningsAreIssues) struct QueryMacrosTests {
  @Test func aFunctionIsWrittenAsOneLikes() async throws {
    let query = $written("a", default: 2, await: 3)
    #expect(query.path == ["written", "a", Int?.some(2), 3])
    #expect(try await QueryStore.detached(query: query, initialValue: nil).fetch() == "a 2 3 5")
  }

  @Test func aDefaultNamesWhatItsVariableCould() {
    let context = QueryContext()
    #expect(context.standard == 4 && context.own == 5 && context.value.size == 3)
    #expect(context.typeName == "QueryContext")
  }

  @Test func thePathHoldsTheArguments() async {
    #expect($post(id: 1).path == ["posts", 1])
    #expect($createPost.path == ["create-post"])
    #expect(Posts.$all(of: 7).path == ["users", 7, "posts"])
    #expect(Posts.$count.path == ["counts"])
  }

  @Test func keywordsAreNames() async throws {
    let query = $setting("size", default: 1, 2, hint: 3)
    #expect(query.path == ["settings", "size", 1, 2, 3])
    #expect(try await QueryStore.detached(query: query, initialValue: nil).fetch() == 3)
    let sum = $sum(default: 1, in: 2)
    #expect(sum.path == ["sums", 2, 1])
    #expect(try await QueryStore.detached(query: sum, initialValue: nil).fetch() == 3)
  }

  @Test func anArgumentDoesNotHideWhatThePathNames() async throws {
    #expect($change(version: 2).path == ["v1", 2])
    let store = QueryStore.detached(query: $change(version: 2), initialValue: nil)
    #expect(try await store.fetch() == 2)
  }

  @Test func requestsOfTheSamePathHaveTheSameValue() async throws {
    #expect(Circle.$read.path == Shape.$read.path)
    let inherited = QueryStore.detached(query: Circle.$read, initialValue: nil)
    #expect(try await inherited.fetch() == "shape")
    #expect(Circle.$readExtended.path == Shape.$readExtended.path)
    let extended = QueryStore.detached(query: Circle.$readExtended, initialValue: nil)
    #expect(try await extended.fetch() == "shape")
    #expect(Circle.$readOwn.path == ["kind", "circle"])
    let own = QueryStore.detached(query: Circle.$readOwn, initialValue: nil)
    #expect(try await own.fetch() == "circle")
    #expect(Circle.$draw.path == ["draw"])
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
