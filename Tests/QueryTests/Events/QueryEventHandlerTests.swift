import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryEventHandlerTests {
  @Test func everyClosureIsOptionalAndCanBeReplaced() async throws {
    var handler = QueryEventHandler<IntState>()
    #expect(handler.onStateChanged == nil)
    #expect(handler.onFetchingStarted == nil)
    #expect(handler.onFetchingEnded == nil)
    #expect(handler.onResultReceived == nil)
    let log = Recorder<String>()
    handler = QueryEventHandler(
      onStateChanged: { _, _ in log.append("state") },
      onFetchingStarted: { _ in log.append("started") },
      onFetchingEnded: { _ in log.append("ended") },
      onResultReceived: { _, _ in log.append("result") }
    )
    try await ScriptedQuery.store().fetch(handler: handler)
    #expect(log.removeAll() == ["state", "started", "result", "state", "ended"])
    handler.onStateChanged = nil
    handler.onFetchingEnded = { _ in log.append("other") }
    try await ScriptedQuery.store().fetch(handler: handler)
    #expect(log.elements == ["started", "result", "other"])
  }
}
