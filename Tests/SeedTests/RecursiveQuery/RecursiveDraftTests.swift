import Foundation
import Query
import TestSupport
import Testing

@Suite("Document 004: the recursive state piece by piece", .warningsAreIssues)
struct RecursiveDraftTests {
  private typealias State = RecursiveDraft.RecursiveQueryState<Comment>

  @Test("Block 16: a new state has its initial value, and nothing else")
  func newState() {
    let state = State(initialValue: Comment(nodeId: 0))
    #expect(state.currentValue == Comment(nodeId: 0))
    #expect(state.valueUpdateCount == 0)
    #expect(state.valueLastUpdatedAt == nil)
    #expect(state.error == nil)
    #expect(state.errorUpdateCount == 0)
    #expect(state.errorLastUpdatedAt == nil)
    #expect(state.activeTasks.isEmpty)
    #expect(state.status.isIdle)
  }

  @Test("Block 19: the intermediate protocol lets one extend the store")
  func storeExtension() async throws {
    let store = DraftThreadQuery.store(CommentsAPI())
    #expect(!store.hasNode(10))
    try await store.fetch()
    #expect(store.hasNode(10))
  }

  @Test("Blocks 24 and 27: a state is loading from the schedule of a task to its end")
  func tasks() {
    var state = State(initialValue: Comment(nodeId: 0))
    var first = QueryTask(context: QueryContext()) { _, _ in Comment(nodeId: 0) }
    var second = QueryTask(context: QueryContext()) { _, _ in Comment(nodeId: 0) }
    #expect(!state.isLoading)
    state.scheduleFetchTask(&first)
    state.scheduleFetchTask(&second)
    #expect(state.activeTasks.map(\.id) == [first.id, second.id])
    state.finishFetchTask(first)
    #expect(state.isLoading)
    state.finishFetchTask(second)
    #expect(!state.isLoading)
  }

  @Test("Blocks 26 and 28: a value takes its place, and an error is kept until the next value")
  func updates() {
    let clock = TestClock()
    var context = QueryContext()
    context.queryClock = clock
    let task = QueryTask(context: context) { _, _ in Comment(nodeId: 0) }
    var state = State(initialValue: Comment(nodeId: 0, children: [Comment(nodeId: 10)]))

    state.update(with: .success(Comment(nodeId: 10, children: [Comment(nodeId: 11)])), for: task)
    #expect(state.currentValue[id: 11] == Comment(nodeId: 11))
    #expect(state.valueUpdateCount == 1)
    #expect(state.valueLastUpdatedAt == clock.now())
    state.update(with: .failure(TestError("task")), for: task)
    #expect(state.error as? TestError == TestError("task"))
    #expect(state.errorUpdateCount == 1)
    #expect(state.errorLastUpdatedAt == clock.now())

    clock.advance(by: 1)
    state.update(with: .failure(TestError("by hand")), using: context)
    #expect(state.error as? TestError == TestError("by hand"))
    #expect(state.errorLastUpdatedAt == clock.now())
    state.update(
      with: .success(Comment(nodeId: 11, children: [Comment(nodeId: 12)])),
      using: context
    )
    #expect(state.currentValue[id: 12] == Comment(nodeId: 12))
    #expect(state.error == nil)
    #expect(state.errorUpdateCount == 2)
    #expect(state.valueUpdateCount == 2)
    #expect(state.valueLastUpdatedAt == clock.now())
  }

  @Test("Block 30: a reset cancels the active tasks, and starts over")
  func reset() async throws {
    let gate = Gate()
    let store = DraftThreadQuery.store(CommentsAPI { _, _ in try await gate.pass() })
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    store.currentValue = Comment(nodeId: 0, children: [Comment(nodeId: 1)])

    store.reset()

    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(store.currentValue == Comment(nodeId: 0))
    #expect(!store.isLoading)
    #expect(store.error == nil)
    #expect(store.valueUpdateCount == 0)
  }
}
