import Query
import TestSupport
import Testing

@Suite struct QueryWarningFactoriesTests {
  private func expect(
    _ warning: QueryWarning,
    says parts: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for part in parts {
      #expect(warning.message.contains(part), sourceLocation: sourceLocation)
    }
    #expect(!warning.message.contains("\n"), sourceLocation: sourceLocation)
  }

  @Test func yieldedAfterReturning() {
    self.expect(
      .queryYieldedAfterReturning(.success(7)),
      says: [
        "yielded a result after it had returned", "success(7)", "Yield before `fetch` returns",
      ]
    )
    self.expect(
      .queryYieldedAfterReturning(Result<Int, any Error>.failure(TestError("late"))),
      says: ["late"]
    )
  }

  @Test func circularScheduling() {
    let infos = ["a", "b"].map { name in
      QueryTask(context: QueryTaskConfiguration(name: name).context) { _, _ in 1 }.info
    }
    self.expect(
      .queryTaskCircularScheduling(info: [infos[0], infos[1], infos[0]]),
      says: [
        "\(infos[0]) -> \(infos[1]) -> \(infos[0])", "wait for itself",
        "Schedule tasks only after tasks that do not wait for them.",
      ]
    )
  }

  @Test func mutationWithNoArgumentsOrHistory() {
    self.expect(
      .mutationWithNoArgumentsOrHistory,
      says: ["without arguments", "Call `mutate(with:)` first."]
    )
  }

  @Test func duplicatePath() {
    self.expect(
      .duplicatePath(
        expectedType: ProbeQuery.self,
        foundType: ModifiedQuery<OtherProbeQuery, TraceModifier<OtherProbeQuery>>.self
      ),
      says: [
        "ModifiedQuery<OtherProbeQuery, TraceModifier<OtherProbeQuery>> has the path of ProbeQuery",
        "Give each query type a path of its own.",
      ]
    )
  }

  @Test func controllerDeallocatedStoreAccess() {
    self.expect(
      .controllerDeallocatedStoreAccess(stateType: QueryState<Int?, Int>.self),
      says: ["QueryStore<QueryState<Int?, Int>> that is gone", "End the controller's work"]
    )
  }

  @Test func invalidDelay() {
    self.expect(
      .invalidDelay(query: "ProbeQuery", seconds: -2),
      says: ["ProbeQuery", "-2.0 seconds", "taken as 0", "Return a finite delay"]
    )
  }

  @Test func equalMistakesAreEqualWarnings() {
    #expect(
      QueryWarning.invalidDelay(query: "A", seconds: 1)
        == .invalidDelay(query: "A", seconds: 1)
    )
    #expect(
      QueryWarning.duplicatePath(expectedType: Int.self, foundType: String.self)
        != .duplicatePath(expectedType: String.self, foundType: Int.self)
    )
  }
}
