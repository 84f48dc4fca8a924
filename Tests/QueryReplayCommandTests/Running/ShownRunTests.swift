import Foundation
import QueryHTTP
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// What the tool has sent with the application closed is shown by the application's next launch, without a
/// network, and `cache-inspect` says so.
@Suite(.warningsAreIssues) struct ShownRunTests {
  /// The names of the records that a server has.
  private struct Names: QueryRequest {
    typealias State = QueryState<[String]?, [String]>

    let answer: [String]?

    var path: QueryPath { ["names"] }

    func fetch(
      in context: QueryContext, with continuation: QueryContinuation<[String]>
    ) async throws -> [String] {
      guard let answer else { throw TestError() }
      return answer
    }
  }

  private static func launch(
    _ storage: SQLiteQueryStorage, answer: [String]? = nil
  ) throws -> (
    client: QueryClient,
    names: QueryStore<Names.State>,
    store: @Sendable (URL) async throws -> Void
  ) {
    let client = QueryClient(storage: storage)
    let add = HTTPMutation(name: "names").durable(.init(scope: .named("names")))
      .optimistic(
        on: { _ in Names(answer: nil).persisted() },
        { names, request, _ in
          let name = request.url.lastPathComponent
          names = ((names ?? []).filter { $0 != name } + [name]).sorted()
        })
    try client.register(add)
    let store = client.store(for: add)
    return (
      client, client.store(for: Names(answer: answer).persisted()),
      { url in try await store.enqueue(with: HTTPRequestDescription(url: url)) }
    )
  }

  @Test(arguments: [1, 250])
  func whatTheToolHasSentIsShownOffline(_ count: Int) async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let store = try ReplayStore()
    let names = (0..<count).map { "n\(1_000 + $0)" }
    try await store.open { storage in
      let (client, shown, enqueue) = try Self.launch(storage, answer: ["base"])
      try await shown.fetch()
      for name in names {
        try await enqueue(try #require(URL(string: "\(server.root)/names/\(name)")))
      }
      #expect(shown.currentValue == ["base"] + names)
      // The edits are the client's.
      withExtendedLifetime(client) {}
    }
    let run = try await ToolRun("run", "--once", on: store)
    #expect(run.lines.last == "\(count) sent, 0 failed, 0 waiting, 0 dead")
    #expect(server.requests.count == count)

    let inspected = try await Self.inspect(store)
    #expect(inspected["mark"] as? Int == 0)
    let laid = inspected["mutations"] as? [[String: Any]] ?? []
    #expect(laid.map { $0["standing"] as? String } == names.map { _ in "acknowledged" })
    #expect(laid.map { $0["sequence"] as? Int } == (1...count).map { $0 })

    try await store.open { storage in
      let (client, shown, _) = try Self.launch(storage)
      #expect(shown.currentValue == ["base"] + names)
      #expect(!shown.hasPendingChanges)
      withExtendedLifetime(client) {}
    }
  }

  private static func inspect(_ store: ReplayStore) async throws -> [String: Any] {
    let child = try ChildProcess(
      ChildProcess.product("cache-inspect"),
      ["show", #"["names"]"#, "--with-pending", "--json", "--store", store.path])
    var text = ""
    for await line in child.lines { text += line }
    #expect(await child.end() == .code(0))
    let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    return object?["pending"] as? [String: Any] ?? [:]
  }
}
