import Foundation
import Operation
import Testing

@Suite("Operation")
struct OperationTests {
  private typealias State = QueryState<String?, String>

  @Test("Each name stands for the type of the engine")
  func types() {
    #expect(OperationContext.self == QueryContext.self)
    #expect(OperationClient.self == QueryClient.self)
    #expect(OperationPath.self == QueryPath.self)
    #expect(OperationSubscription.self == QuerySubscription.self)
    #expect(OperationTaskConfiguration.self == QueryTaskConfiguration.self)
    #expect(OperationBackoffFunction.self == QueryBackoffFunction.self)
    #expect(OperationStore<State>.self == QueryStore<State>.self)
    #expect(OperationControls<State>.self == QueryControls<State>.self)
    #expect(OperationEventHandler<State>.self == QueryEventHandler<State>.self)
    #expect(OperationTask<String>.self == QueryTask<String>.self)
  }

  @Test("Each protocol's name stands for the protocol of the engine")
  func protocols() {
    #expect((any OperationClock).self == (any QueryClock).self)
    #expect((any OperationDelayer).self == (any QueryDelayer).self)
    #expect((any OperationState).self == (any QueryStateProtocol).self)
    #expect((any OperationRequest).self == (any QueryRequest).self)
    #expect((any OperationModifier).self == (any QueryModifier).self)
    #expect((any OperationController).self == (any QueryController).self)
  }

  @Test("Each public type of the engine whose name begins with Query has its name here")
  func names() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources").standardizedFileURL
    let enumerator = try #require(
      FileManager.default.enumerator(
        at: sources.appending(path: "Query"), includingPropertiesForKeys: nil))
    let declaration = /^public (?:final |indirect )*(?:struct|class|enum|protocol|actor) (Query\w+)/
    var names = Set<String>()
    for case let file as URL in enumerator where file.pathExtension == "swift" {
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
        if let match = line.firstMatch(of: declaration) { names.insert(String(match.1)) }
      }
    }
    #expect(names.count > 30)
    let aliases = try String(
      contentsOf: sources.appending(path: "Operation/Operation.swift"), encoding: .utf8)
    // The protocol of all states has the name that `QueryState` would have.
    let missing = try names.subtracting(["QueryState"]).filter { name in
      let alias = name == "QueryStateProtocol" ? "OperationState" : "Operation\(name.dropFirst(5))"
      return aliases.firstMatch(
        of: try Regex("public typealias \(alias)(<.*>)? = \(name)\\b")) == nil
    }
    #expect(missing.isEmpty)
  }

  @Test("What has no type in its name, and a task with its failure, are the same, too")
  func others() {
    #expect(OpaqueOperationStore.self == OpaqueQueryStore.self)
    #expect(OpaqueOperationState.self == OpaqueQueryState.self)
    #expect(OpaqueOperationEventHandler.self == OpaqueQueryEventHandler.self)
    #expect(OperationTask<String, any Error>.self == QueryTask<String>.self)
    #expect(ModifiedOperation<Post, Signed>.self == ModifiedQuery<Post, Signed>.self)
  }

  @Test("The properties of a context are the same under both names")
  func properties() {
    var context = OperationContext()
    context.operationTaskConfiguration = OperationTaskConfiguration(name: "a")
    #expect(context.queryTaskConfiguration.name == "a")
    context.operationStorage = MemoryQueryStorage()
    #expect(context.queryStorage is MemoryQueryStorage)
    #expect(context.operationRunningTaskIdentifier == nil)
    #expect(context.runningOperationStore == nil)
    #expect(context.operationResultUpdateReason == nil)
    context.queryResultUpdateReason = .yieldedResult
    #expect(context.operationResultUpdateReason == .yieldedResult)
    struct Silent: OperationLogger {
      func log(level: OperationLogLevel, message: @autoclosure () -> String) {}
    }
    context.operationLogger = Silent()
    #expect(context.queryLogger is Silent)
  }

  @Test("A continuation is written with its value, or with its value and failure")
  func continuation() {
    #expect(OperationContinuation<String>.self == QueryContinuation<String>.self)
    #expect(OperationContinuation<String, any Error>.self == QueryContinuation<String>.self)
  }

  @Test("A request and a modifier under these names run in a store under these names")
  func fetch() async throws {
    let date = Date(timeIntervalSince1970: 1_234_567_890)
    let query = Post().modifier(Signed())
    let store = OperationStore.detached(query: query, initialValue: nil)
    store.context.operationClock = .custom { date }

    let value = try await store.fetch()

    #expect(value == "hello! - Blob")
    #expect(store.currentValue == "hello! - Blob")
    #expect(store.valueUpdateCount == 2)
    #expect(store.valueLastUpdatedAt == date)
  }
}

extension OperationContext {
  fileprivate var greeting: String {
    get { self[GreetingKey.self] }
    set { self[GreetingKey.self] = newValue }
  }

  private enum GreetingKey: Key {
    static let defaultValue = "hi"
  }
}

private struct Post: QueryRequest, Hashable {
  func setup(context: inout OperationContext) {
    context.greeting = "hello!"
  }

  func fetch(
    in context: OperationContext,
    with continuation: OperationContinuation<String, any Error>
  ) async throws -> String {
    continuation.yield("draft")
    return context.greeting
  }
}

private struct Signed<Query: OperationRequest>: OperationModifier where Query.Value == String {
  func fetch(
    in context: OperationContext,
    using query: Query,
    with continuation: OperationContinuation<String>
  ) async throws -> String {
    try await query.fetch(in: context, with: continuation) + " - Blob"
  }
}
