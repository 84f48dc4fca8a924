import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct TaskNamesTests {
  private struct Payload: Sendable {}

  @Test func aTaskIsNamedForTheTypeOfItsStore() {
    let optional = QueryStore.detached(
      query: ScriptedQuery<[String: Payload]> { _, _ in [:] },
      initialValue: nil
    )
    #expect(
      optional.fetchTask().configuration.name
        == "QueryStore<QueryState<[String: TaskNamesTests.Payload]?, [String: "
        + "TaskNamesTests.Payload]>> Task"
    )
    let plain = QueryStore.detached(query: ScriptedQuery<[Int]> { _, _ in [] }.defaultValue([]))
    #expect(plain.fetchTask().configuration.name == "QueryStore<QueryState<[Int], [Int]>> Task")
  }
}
