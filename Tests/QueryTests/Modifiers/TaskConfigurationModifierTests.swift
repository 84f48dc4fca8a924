import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct TaskConfigurationModifierTests {
  @Test func aConfigurationWritesNamePriorityAndExecutor() {
    let executor = InlineExecutor()
    let query = ProbeQuery().taskConfiguration(
      QueryTaskConfiguration(name: "name", priority: .low, executorPreference: executor)
    )
    let configuration = QueryStore.detached(query: query, initialValue: nil).context
      .queryTaskConfiguration
    #expect(configuration.name == "name")
    #expect(configuration.priority == .low)
    #expect(configuration.executorPreference === executor)
  }

  @Test func aConfigurationWritesAllThreeEvenWhereItHasNone() {
    let query = ProbeQuery().taskConfiguration(QueryTaskConfiguration(name: "inner"))
      .taskConfiguration(QueryTaskConfiguration(name: "outer", priority: .high))
    let configuration = QueryStore.detached(query: query, initialValue: nil).context
      .queryTaskConfiguration
    #expect(configuration.name == "inner")
    #expect(configuration.priority == nil)
  }

  @Test func aConfigurationWritesNoOtherKey() {
    var context = QueryContext()
    context.trace = ["configuration"]
    context.maxRetries = 9
    let query = ProbeQuery().taskConfiguration(QueryTaskConfiguration(context: context))
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.trace == [])
    #expect(store.context.maxRetries == 0)
  }

  @Test func anEditKeepsWhatItDoesNotTouch() {
    let query = ProbeQuery().taskConfiguration { $0.priority = .low }
      .taskConfiguration(QueryTaskConfiguration(name: "outer", priority: .high))
    let configuration = QueryStore.detached(query: query, initialValue: nil).context
      .queryTaskConfiguration
    #expect(configuration.name == "outer")
    #expect(configuration.priority == .low)
  }

  @Test func anEditSeesTheWholeContext() {
    let query = ProbeQuery().taskConfiguration { $0.name = $0.context.trace.joined() }
      .traced("a").traced("b")
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.queryTaskConfiguration.name == "ba")
  }

  @Test func anEditIsAppliedAtSetupOnce() async throws {
    let edits = Counter()
    let query = ProbeQuery().taskConfiguration { $0.name = "\(edits.increment())" }
    let store = QueryStore.detached(query: query, initialValue: nil)
    try await store.fetch()
    try await store.fetch()
    #expect(edits.value == 1)
    #expect(store.fetchTask().configuration.name == "1")
  }

  @Test func theTaskHasTheNameAndThePriority() async throws {
    let seen = Recorder<(name: String?, priority: TaskPriority)>()
    let query = ProbeQuery(onFetch: { _, _ in
      seen.append((Task.name, Task.basePriority ?? .background))
      return 1
    })
    .taskConfiguration(QueryTaskConfiguration(name: "named", priority: .low))
    let store = QueryStore.detached(query: query, initialValue: nil)
    try await store.fetch()
    #expect(seen.elements.map(\.name) == ["named"])
    #expect(seen.elements.map(\.priority) == [.low])
  }
}

private final class InlineExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    job.runSynchronously(on: self.asUnownedTaskExecutor())
  }
}
