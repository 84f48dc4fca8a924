import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct MutationStateHistoryEntryTests {
  @Test func theTaskOfAnEntryCanBeAwaitedFromOutside() async throws {
    let gate = Gate()
    let store = QueryStore.detached(
      mutation: EchoMutation { call in
        try await gate.pass()
        return call.echo
      }
    )
    async let attempt = store.mutate(with: "a")
    await gate.arrival()
    let entry = try #require(store.history.first)
    async let outside = entry.task.runIfNeeded()
    gate.open()
    #expect(try await (attempt, outside) == ("A", "A"))
    #expect(try await store.history.first?.task.runIfNeeded() == "A")
    #expect(store.history.count == 1)
  }

  @Test func theTaskOfAnUnrunEntryStartsTheAttempt() async throws {
    let mutation = EchoMutation()
    let store = QueryStore.detached(mutation: mutation)
    let task = store.mutateTask(with: "a")
    let entry = try #require(store.history.first)
    #expect(entry.id == task.id)
    #expect(entry.task == task)
    #expect(try await entry.task.runIfNeeded() == "A")
    #expect(try await task.runIfNeeded() == "A")
    #expect(mutation.attempts.elements == ["a"])
  }

  @Test func cancellingTheTaskOfAnEntryCancelsTheAttempt() async throws {
    let gate = Gate()
    let store = QueryStore.detached(
      mutation: EchoMutation { call in
        try await gate.pass()
        return call.echo
      }
    )
    let attempt = Task { try await store.mutate(with: "a") }
    await gate.arrival()
    store.history.first?.task.cancel()
    await #expect(throws: CancellationError.self) { try await attempt.value }
    #expect(store.state.status.isCancelled)
  }

  @Test func anEntryIsLoadingUntilItsAttemptHasEnded() async throws {
    let gate = Gate()
    let clock = TestClock()
    let mutation = EchoMutation { call in
      clock.advance(by: 1)
      call.continuation.yield("early")
      try await gate.pass()
      clock.advance(by: 1)
      return call.echo
    }
    let store = QueryStore.detached(mutation: mutation.clock(clock))
    let start = clock.now()
    async let attempt = store.mutate(with: "a")
    await gate.arrival()
    let entry = try #require(store.history.first)
    #expect(entry.arguments == "a")
    #expect(entry.startDate == start)
    #expect(entry.lastUpdatedAt == start + 1)
    #expect(try entry.currentResult?.get() == "early")
    #expect(entry.status.isLoading)
    gate.open()
    _ = try await attempt
    let ended = try #require(store.history.first)
    #expect(ended.lastUpdatedAt == start + 2)
    #expect(try ended.currentResult?.get() == "A")
    #expect(ended.status.resultValue == "A")
  }

  @Test func anEntryWithoutAResultHasNoDate() {
    let store = QueryStore.detached(mutation: EchoMutation())
    let task = store.mutateTask(with: "a")
    #expect(store.history.first?.lastUpdatedAt == nil)
    #expect(store.history.first?.currentResult == nil)
    withExtendedLifetime(task) {}
  }
}
