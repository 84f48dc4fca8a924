import Foundation
import Query
import TestSupport
import Testing

// Document 004, "Building Your Own Data Fetching Paradigm": what blocks 22 to 32 do.

@Suite("Document 004: the recursive paradigm", .warningsAreIssues)
struct RecursiveQueryTests {
  private typealias State = RecursiveQueryState<Comment>

  private let fullThread = Comment(
    nodeId: 0,
    children: [
      Comment(nodeId: 10, children: [Comment(nodeId: 11), Comment(nodeId: 12)]),
      Comment(nodeId: 20),
    ]
  )

  @Test("Block 32: a client makes a store of the paradigm, and it fetches a subtree")
  func client() async throws {
    let client = QueryClient()
    let store = client.store(
      for: CommentThreadQuery(rootNodeId: 0),
      initialState: RecursiveQueryState(initialValue: Comment(nodeId: 0))
    )

    try await store.fetchTree(for: 10)

    #expect(store.valueUpdateCount == 1)
    // The tree has no node 10 yet.
    #expect(store.currentValue == Comment(nodeId: 0))
    #expect(client.store(with: store.path)?.base as? QueryStore<State> === store)
  }

  @Test("A plain fetch fetches the tree from its root")
  func fetchRoot() async throws {
    let api = CommentsAPI()
    let store = self.makeStore(api)
    let root = try await store.fetch()

    #expect(root == Comment(nodeId: 0, children: [Comment(nodeId: 10), Comment(nodeId: 20)]))
    #expect(store.currentValue == root)
    #expect(api.calls.elements == [0])
    #expect(store.status.resultValue == root)
  }

  @Test("A subtree takes its place in the tree, and the rest stays")
  func fetchSubtree() async throws {
    let api = CommentsAPI()
    let store = self.makeStore(api)
    try await store.fetch()

    let subtree = try await store.fetchTree(for: 10)

    #expect(subtree == Comment(nodeId: 10, children: [Comment(nodeId: 11), Comment(nodeId: 12)]))
    #expect(store.currentValue == self.fullThread)
    #expect(api.calls.elements == [0, 10])
    #expect(store.valueUpdateCount == 2)

    // The context of the store knows nothing of the node.
    try await store.fetch()
    #expect(api.calls.elements == [0, 10, 0])
  }

  @Test("Two subtrees are fetched at the same time, and the store is loading until both are there")
  func concurrency() async throws {
    let gate10 = Gate()
    let gate20 = Gate()
    let api = CommentsAPI { id, _ in
      if id == 10 { try await gate10.pass() }
      if id == 20 { try await gate20.pass() }
    }
    let store = self.makeStore(api)
    try await store.fetch()
    #expect(!store.isLoading)

    async let subtree10 = store.fetchTree(for: 10)
    async let subtree20 = store.fetchTree(for: 20)
    await gate10.arrival()
    await gate20.arrival()
    #expect(store.activeTasks.count == 2)
    gate20.open()
    _ = try await subtree20
    #expect(store.isLoading)
    #expect(store.status.isLoading)
    gate10.open()
    _ = try await subtree10

    #expect(!store.isLoading)
    #expect(store.currentValue[id: 10]?.children.map(\.nodeId) == [11, 12])
    #expect(store.currentValue[id: 20]?.children.map(\.nodeId) == [21])
  }

  @Test("The events of a subtree are those of any query")
  func events() async throws {
    let store = self.makeStore(CommentsAPI())
    let collector = EventCollector<State>()
    let subscription = store.subscribe(with: collector.handler)

    let root = try await store.fetchTree(for: 0)

    #expect(
      collector.events == [
        .stateChanged,
        .stateChanged, .fetchingStarted, .returned("\(root)"), .stateChanged, .fetchingEnded,
      ]
    )
    #expect(collector.states.map(\.isLoading) == [false, true, false])
    #expect(collector.states.map(\.currentValue) == [Comment(nodeId: 0), Comment(nodeId: 0), root])
    subscription.cancel()
  }

  @Test("A failure is the state's error, and the next success clears it")
  func failure() async throws {
    let api = CommentsAPI { _, number in if number == 1 { throw TestError() } }
    let store = self.makeStore(api)
    let clock = TestClock()
    store.context.queryClock = clock

    await #expect(throws: TestError()) { try await store.fetchTree(for: 0) }
    #expect(store.error as? TestError == TestError())
    #expect(store.errorUpdateCount == 1)
    #expect(store.errorLastUpdatedAt == clock.now())
    #expect(store.valueLastUpdatedAt == nil)
    #expect(store.status.isFailure)

    clock.advance(by: 1)
    try await store.fetchTree(for: 0)
    #expect(store.error == nil)
    #expect(store.errorUpdateCount == 1)
    #expect(store.valueLastUpdatedAt == clock.now())
  }

  @Test("Setting State Manually: a node that is set takes its place in the tree")
  func manualUpdate() async throws {
    let store = self.makeStore(CommentsAPI())
    let clock = TestClock()
    store.context.queryClock = clock
    try await store.fetch()
    clock.advance(by: 1)

    store.currentValue = Comment(nodeId: 20, children: [Comment(nodeId: 25)])

    #expect(store.currentValue[id: 25] == Comment(nodeId: 25))
    #expect(store.currentValue.nodeId == 0)
    #expect(store.valueUpdateCount == 2)
    #expect(store.valueLastUpdatedAt == clock.now())

    store.setResult(to: .failure(TestError()))
    #expect(store.error is TestError)
    #expect(store.errorUpdateCount == 1)
  }

  @Test("Resetting State: tasks are cancelled, and their errors do not reach the reset state")
  func reset() async throws {
    let gate = Gate()
    let api = CommentsAPI { id, _ in if id != 0 { try await gate.pass() } }
    let store = self.makeStore(api)
    try await store.fetch()
    let fetch10 = Task { try await store.fetchTree(for: 10) }
    let fetch20 = Task { try await store.fetchTree(for: 20) }
    let unrun = store.fetchTask()
    await gate.arrival(2)
    #expect(store.activeTasks.count == 3)

    store.reset()

    #expect(!store.isLoading)
    #expect(store.currentValue == Comment(nodeId: 0))
    await #expect(throws: CancellationError.self) { try await fetch10.value }
    await #expect(throws: CancellationError.self) { try await fetch20.value }
    await #expect(throws: CancellationError.self) { try await unrun.runIfNeeded() }
    #expect(store.error == nil)
    #expect(store.errorUpdateCount == 0)
    #expect(store.valueUpdateCount == 0)
    #expect(store.valueLastUpdatedAt == nil)
    #expect(store.status.isIdle)

    // The paradigm goes on.
    try await store.fetch()
    #expect(store.valueUpdateCount == 1)
  }

  @Test("Values that a recursive query yields take their place, too")
  func yields() async throws {
    let store = QueryStore.detached(
      query: YieldingThreadQuery(rootNodeId: 0),
      initialState: State(initialValue: Comment(nodeId: 0))
    )
    let collector = EventCollector<State>()
    let subscription = store.subscribe(with: collector.handler)
    try await store.fetchTree(for: 0)

    #expect(collector.states.map { $0.currentValue.children.map(\.nodeId) } == [[], [], [1], [2]])
    subscription.cancel()
  }

  @Test("A configuration of one's own is kept beside the node")
  func configuration() async throws {
    let names = Recorder<String?>()
    let store = self.makeStore(CommentsAPI())
    let handler = QueryEventHandler<State>(
      onFetchingStarted: { names.append($0.queryTaskConfiguration.name) }
    )
    let subscription = store.subscribe(with: handler)

    let subtree = try await store.fetchTree(
      for: 10,
      using: QueryTaskConfiguration(name: "Fetch Tree")
    )
    try await store.fetchTree(for: 10)

    #expect(subtree.nodeId == 10)
    #expect(names.elements.first == "Fetch Tree")
    #expect(names.count == 2)
    subscription.cancel()
  }

  private func makeStore(_ api: CommentsAPI) -> QueryStore<State> {
    QueryStore.detached(
      query: CommentThreadQuery(rootNodeId: 0),
      initialState: RecursiveQueryState(initialValue: Comment(nodeId: 0)),
      initialContext: .comments(api)
    )
  }
}

private struct YieldingThreadQuery: RecursiveQueryRequest, Hashable {
  typealias Value = Comment
  typealias NodeID = Int

  let rootNodeId: Int

  func fetchTree(
    for id: Int,
    in context: QueryContext,
    with continuation: QueryContinuation<Comment>
  ) async throws -> Comment {
    continuation.yield(Comment(nodeId: id, children: [Comment(nodeId: 1)]))
    return Comment(nodeId: id, children: [Comment(nodeId: 2)])
  }
}
