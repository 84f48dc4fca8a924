import TestSupport
import Testing

@testable import Query

@Suite(.warningsAreIssues) struct TypedTaskRunTests {
  private static func task() -> QueryTask<Int> {
    QueryTask(context: QueryContext()) { _, _ in 1 }
  }

  @Test func schedulingAgainMovesADependencyToTheEnd() {
    let dependencies = (0..<3).map { _ in Self.task() }
    let task = Self.task()
    task.schedule(after: dependencies)
    task.schedule(after: dependencies[0])
    let expected = [dependencies[1].id, dependencies[2].id, dependencies[0].id]
    #expect(task.run.dependencies.map(\.dependencyRun.id) == expected)
    task.schedule(after: [dependencies[2], dependencies[2]])
    #expect(
      task.run.dependencies.map(\.dependencyRun.id)
        == [dependencies[1].id, dependencies[0].id, dependencies[2].id]
    )
  }

  @Test func aFinishedRunHoldsNothingButItsResult() async throws {
    let dependency = Self.task()
    let task = Self.task()
    task.schedule(after: dependency)
    try await task.runIfNeeded()
    #expect(task.run.dependencies.isEmpty)
    #expect(task.typedRun.state.withLock { $0.work == nil && $0.task == nil })
    #expect(dependency.typedRun.state.withLock { $0.dependantCount } == 0)
  }

  @Test func anUnrunTaskThatIsReleasedIsNoDependantAnyMore() {
    let dependency = Self.task()
    var task: QueryTask<Int>? = Self.task()
    task?.schedule(after: dependency)
    #expect(dependency.typedRun.state.withLock { $0.dependantCount } == 1)
    task = nil
    #expect(dependency.typedRun.state.withLock { $0.dependantCount } == 0)
  }

  @Test func anEdgeThatIsRefusedIsNotCounted() async {
    let first = Self.task()
    let second = Self.task()
    await withExpectedWarnings([
      .queryTaskCircularScheduling(info: [second.info, first.info, second.info]),
      .queryTaskCircularScheduling(info: [first.info, first.info]),
    ]) {
      first.schedule(after: second)
      second.schedule(after: first)
      first.schedule(after: first)
    }
    #expect(first.typedRun.state.withLock { $0.dependantCount } == 0)
    #expect(second.typedRun.state.withLock { $0.dependantCount } == 1)
  }

  /// The fast way of scheduling holds no lock; the slow one must not, while a dropped task tells
  /// its store's handlers.
  @Test func aTaskThatIsDroppedByASlowSchedulingTellsItsStoreOutsideTheGraphsLock() async throws {
    let store = ScriptedQuery.store()
    let gate = Gate()
    let started = QueryTask(context: QueryContext()) { _, _ in try await gate.pass() }
    let dependant = Self.task()
    dependant.schedule(after: started)
    let run = Task { try await started.runIfNeeded() }
    await gate.arrival()
    var held: QueryTask<Int>? = store.fetchTask()
    let active = try #require(store.activeTasks.first)
    let dropped = Counter()
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        guard !state.isLoading else { return }
        dropped.increment()
        // Searches for a circle, too.
        Self.task().schedule(after: started)
        started.schedule(after: Self.task())
      })
    )
    started.schedule(after: active)
    #expect(store.isLoading && held != nil)
    held = nil
    #expect(!store.isLoading)
    #expect(dropped.value == 1)
    gate.open()
    try await run.value
    withExtendedLifetime((subscription, dependant)) {}
  }
}
