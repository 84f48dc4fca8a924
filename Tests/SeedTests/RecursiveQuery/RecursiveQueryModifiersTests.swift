import Foundation
import Query
import TestSupport
import Testing

// Document 004: "the paradigm can even utilize the exact same modifiers built for typical queries".
// The modifiers that surround a fetch, and those that supply time and delays. The others are in
// `RecursiveQueryAutomationTests.swift`.

private typealias State = RecursiveQueryState<Comment>

private let thread = CommentThreadQuery(rootNodeId: 0)

private let subtree10 = Comment(
  nodeId: 10,
  children: [Comment(nodeId: 11), Comment(nodeId: 12)]
)

extension QueryStore {
  /// A store of a recursive query, in whatever it is wrapped.
  static func comments(
    _ query: some QueryRequest<Comment, RecursiveQueryState<Comment>>,
    _ api: CommentsAPI = CommentsAPI()
  ) -> QueryStore<RecursiveQueryState<Comment>> where State == RecursiveQueryState<Comment> {
    .detached(
      query: query,
      initialState: RecursiveQueryState(initialValue: Comment(nodeId: 0)),
      initialContext: .comments(api)
    )
  }
}

@Suite("Document 004: modifiers around a recursive query", .warningsAreIssues)
struct RecursiveQueryModifiersTests {
  @Test("retry(limit:) tries the same subtree again")
  func retry() async throws {
    let api = CommentsAPI { id, number in if id == 10 && number < 3 { throw TestError() } }
    let store = QueryStore.comments(thread.retry(limit: 3).delayer(.noDelay), api)
    try await store.fetch()

    #expect(try await store.fetchTree(for: 10) == subtree10)
    #expect(api.calls.elements == [0, 10, 10, 10])
    #expect(store.currentValue[id: 10] == subtree10)
    #expect(store.errorUpdateCount == 0)
  }

  @Test("backoff(_:) and delayer(_:) say how its retries wait")
  func backoffAndDelayer() async throws {
    let delayer = RecordingDelayer()
    let api = CommentsAPI { _, number in if number < 3 { throw TestError() } }
    let store = QueryStore.comments(
      thread.retry(limit: 3).backoff(.linear(2)).delayer(delayer),
      api
    )

    #expect(try await store.fetchTree(for: 10) == subtree10)
    #expect(delayer.delays == [2, 4])
  }

  @Test("deduplicated() shares one fetch of a subtree")
  func deduplicated() async throws {
    let gate = Gate()
    let api = CommentsAPI { _, _ in try await gate.pass() }
    let store = QueryStore.comments(thread.deduplicated(), api)
    async let first = store.fetchTree(for: 10)
    await gate.arrival()
    let started = EventCollector<State>()
    let subscription = store.subscribe(with: started.handler)
    async let second = store.fetchTree(for: 10)
    await started.wait(for: .fetchingStarted)
    gate.open()

    #expect(try await [first, second] == [subtree10, subtree10])
    #expect(api.calls.elements == [10])
    #expect(store.valueUpdateCount == 2)
    subscription.cancel()
  }

  @Test("deduplicated(by:) tells one subtree from another, also in a client, which deduplicates")
  func deduplicatedBy() async throws {
    let gate = Gate()
    let api = CommentsAPI { _, _ in try await gate.pass() }
    let query = thread.deduplicated {
      $0.recursiveValues.nodeId as? Int == $1.recursiveValues.nodeId as? Int
    }
    let store = QueryClient(defaultContext: .comments(api)).store(
      for: query,
      initialState: RecursiveQueryState(initialValue: Comment(nodeId: 0))
    )
    async let first = store.fetchTree(for: 10)
    async let second = store.fetchTree(for: 20)
    await gate.arrival(2)
    gate.open()

    #expect(try await first == subtree10)
    #expect(try await second == Comment(nodeId: 20, children: [Comment(nodeId: 21)]))
    #expect(api.calls.elements.sorted() == [10, 20])
  }

  @Test("suspend(on:) holds a subtree back until its condition holds")
  func suspend() async throws {
    let condition = ManualCondition(false)
    let api = CommentsAPI()
    let store = QueryStore.comments(thread.suspend(on: condition), api)
    let collector = EventCollector<State>()
    let subscription = store.subscribe(with: collector.handler)
    async let subtree = store.fetchTree(for: 10)
    await collector.wait(for: .fetchingStarted)
    #expect(store.isLoading)
    #expect(api.calls.elements == [])
    condition.send(true)

    #expect(try await subtree == subtree10)
    #expect(api.calls.elements == [10])
    subscription.cancel()
  }

  @Test("clock(_:) dates its updates")
  func clock() async throws {
    let clock = TestClock()
    let store = QueryStore.comments(thread.clock(clock))
    try await store.fetchTree(for: 10)
    #expect(store.valueLastUpdatedAt == clock.now())
  }

  @Test("logDuration(with:at:) logs how long it took")
  func logDuration() async throws {
    let clock = TestClock()
    let logger = RecordingLogger()
    let api = CommentsAPI { _, _ in clock.advance(by: 2) }
    let store = QueryStore.comments(
      thread.logDuration(with: logger, at: .notice).clock(clock),
      api
    )
    try await store.fetchTree(for: 10)
    #expect(logger.messages.elements == ["notice: CommentThreadQuery took 2.0 secs to run."])
  }

  @Test("taskConfiguration(_:) names its tasks")
  func taskConfiguration() async throws {
    let store = QueryStore.comments(
      thread.taskConfiguration(QueryTaskConfiguration(name: "Comments", priority: .high))
    )
    let collector = EventCollector<State>()
    let subscription = store.subscribe(with: collector.handler)
    try await store.fetchTree(for: 10)
    let configuration = collector.contexts(of: .fetchingStarted).first?.queryTaskConfiguration
    #expect(configuration?.name == "Comments")
    #expect(configuration?.priority == .high)

    let edited = QueryStore.comments(thread.taskConfiguration { $0.name = "Edited" })
    #expect(edited.fetchTask().configuration.name == "Edited")
    #expect(try await edited.fetchTree(for: 10) == subtree10)
    subscription.cancel()
  }

  @Test("A modifier of one's own surrounds the fetch of a subtree, and sees its node")
  func custom() async throws {
    let nodes = Recorder<Int?>()
    let setups = Counter()
    let store = QueryStore.comments(
      thread.modifier(Watching(nodes: nodes)).modifier(SetupCounting(setups: setups))
    )
    try await store.fetchTree(for: 10)
    try await store.fetch()
    #expect(nodes.elements == [10, nil])
    #expect(setups.value == 1)
  }
}

/// Records the node of each fetch.
private struct Watching<Query: QueryRequest>: QueryModifier {
  let nodes: Recorder<Int?>

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    self.nodes.append(context.recursiveValues.nodeId as? Int)
    return try await query.fetch(in: context, with: continuation)
  }
}
