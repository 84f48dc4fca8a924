import Foundation
import TestSupport
import Testing

@testable import Query

/// A caller that shares a fetch has its result when the fetch ends, but may come to run much later:
/// its actor is busy.
@Suite(.warningsAreIssues) struct StoreFetchSharingTests {
  private let gate = Gate()
  private let executor = HeldExecutor()

  /// Begins two fetches of a store that share their work, and ends the first one.
  ///
  /// - Parameter fetch: Fetches, for the second time with a configuration.
  /// - Returns: The second one, which has the result as well, and is held up before it brings that.
  private func lateSharer<State: QueryStateProtocol, Value: Sendable>(
    of store: QueryStore<State>,
    _ fetch: @escaping @Sendable (QueryTaskConfiguration?) async throws -> Value
  ) async throws -> Task<Value, any Error> {
    let table = try #require(store.context.deduplicationTable(of: State.QueryValue.self))
    let first = Task { try await fetch(nil) }
    await self.gate.arrival()
    let second = Task { @concurrent [executor] in
      try await fetch(QueryTaskConfiguration(executorPreference: executor))
    }
    while table.waiterCount < 2 || self.executor.isBusy { await Task.yield() }
    self.executor.hold()
    self.gate.open()
    _ = try await first.value
    return second
  }

  @Test(arguments: NewerValue.allCases)
  fileprivate func aLateSharerDoesNotReplaceWhatTheStoreHasSince(newer: NewerValue) async throws {
    let query = SharedQuery(self.gate)
    let store = query.deduplicated().sharedStore()
    let late = try await self.lateSharer(of: store) { try await store.fetch(using: $0) }
    #expect(store.currentValue == 1)
    switch newer {
    case .isFetched: #expect(try await store.fetch() == 2)
    case .isSet: store.currentValue = 2
    }
    let date = store.valueLastUpdatedAt
    self.executor.release()
    #expect(try await late.value == 1, "its caller has what it has shared")
    #expect(store.currentValue == 2)
    #expect(store.valueLastUpdatedAt == date && store.valueUpdateCount == 2)
    #expect(!store.isLoading)
    #expect(query.fetches.value == (newer == .isFetched ? 2 : 1))
  }

  @Test func aLateSharerUpdatesAStateThatNothingElseHasChanged() async throws {
    let query = SharedQuery(self.gate)
    let store = query.deduplicated().sharedStore()
    let late = try await self.lateSharer(of: store) { try await store.fetch(using: $0) }
    #expect(store.valueUpdateCount == 1)
    self.executor.release()
    #expect(try await late.value == 1)
    #expect(store.currentValue == 1)
    #expect(store.valueUpdateCount == 2, "each fetch has an update of its own")
    #expect(query.fetches.value == 1)
  }

  /// The fetch whose first attempt was shared makes another one, which nobody shares.
  @Test func aFailureThatWasSharedIsNotTheResultOfTheNextAttempt() async throws {
    let gates = [Gate(), Gate()]
    let query = SharedQuery { call in
      try await gates[call.number - 1].pass()
      if call.number == 1 { throw TestError() }
      return call.number
    }
    let store = query.deduplicated().retry(limit: 1).delayer(.noDelay).sharedStore()
    let table = try #require(store.context.deduplicationTable(of: Int.self))
    let first = Task { try await store.fetch() }
    await gates[0].arrival()
    let second = Task {
      var context = store.context
      context.maxRetries = 0
      return try await store.fetch(using: context)
    }
    while table.waiterCount < 2 { await Task.yield() }
    gates[0].open()
    await #expect(throws: TestError.self) { try await second.value }
    await gates[1].arrival()
    store.currentValue = 5
    gates[1].open()
    #expect(try await first.value == 2)
    #expect(store.currentValue == 2 && store.error == nil)
  }

  /// The first caller, whose fetch the work was, has left it to the others.
  @Test func cancelledWorkThatItsFirstCallerHasLeftIsNotShared() async throws {
    let query = SharedQuery { [gate] call in
      await gate.passIgnoringCancellation()
      return call.number
    }
    let store = query.deduplicated().sharedStore()
    let table = try #require(store.context.deduplicationTable(of: Int.self))
    let first = Task { try await store.fetch() }
    await self.gate.arrival()
    let second = Task { try await store.fetch() }
    while table.waiterCount < 2 { await Task.yield() }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    // As a handler fetches that is told of the cancellation before the work is.
    let ends = store.takeCancellationOfFetches()
    let third = Task { try await store.fetch() }
    await self.gate.arrival(2)
    for end in ends { end() }
    self.gate.open()
    #expect(try await third.value == 2)
    #expect(store.currentValue == 2)
    await #expect(throws: CancellationError.self) { try await second.value }
  }

  /// The store's list is in the order in which they were scheduled.
  @Test func aFetchThatSharesTheWorkOfALaterOneIsCancelledWithIt() async throws {
    let query = SharedQuery { [gate] call in
      await gate.passIgnoringCancellation()
      return call.number
    }
    let store = query.deduplicated().sharedStore()
    let table = try #require(store.context.deduplicationTable(of: Int.self))
    let tasks = [store.fetchTask(), store.fetchTask()]
    let later = Task { try await tasks[1].runIfNeeded() }
    await self.gate.arrival()
    let earlier = Task { try await tasks[0].runIfNeeded() }
    while table.waiterCount < 2 { await Task.yield() }
    store.cancelFetches()
    #expect(!store.isLoading && store.activeTasks.isEmpty)
    self.gate.open()
    for fetch in [later, earlier] {
      await #expect(throws: CancellationError.self) { try await fetch.value }
    }
    #expect(store.currentValue == nil && query.fetches.value == 1)
  }

  // MARK: - What has not begun

  /// It was started, and has come to no thread yet.
  @Test(arguments: [true, false])
  func aFetchThatHasNotBegunMakesNoRequestBehindACancellation(_ isReset: Bool) async {
    let query = SharedQuery(self.gate)
    self.gate.open()
    let store = query.sharedStore()
    self.executor.hold()
    let fetch = Task { @concurrent [executor] in
      try await store.fetch(using: QueryTaskConfiguration(executorPreference: executor))
    }
    while !store.isLoading { await Task.yield() }
    if isReset { store.reset() } else { store.cancelFetches() }
    self.executor.release()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(query.fetches.value == 0)
    #expect(store.currentValue == nil && store.error == nil && !store.isLoading)
  }

  @Test func aWriteThatHasNotBegunIsNotSentBehindAReset() async {
    let mutation = EchoMutation(gates: [:])
    let store = QueryStore.detached(mutation: mutation)
    self.executor.hold()
    let attempt = Task { @concurrent [executor] in
      try await store.mutate(
        with: "a", using: QueryTaskConfiguration(executorPreference: executor))
    }
    while !store.isLoading { await Task.yield() }
    store.reset()
    self.executor.release()
    await #expect(throws: CancellationError.self) { try await attempt.value }
    #expect(mutation.attempts.elements.isEmpty)
    #expect(store.history.isEmpty)
  }

  /// A history has the result of each attempt, whatever came after it.
  @Test func aLateSharerOfAnAttemptHasTheResultInItsOwnHistoryEntry() async throws {
    let mutation = EchoMutation(gates: ["a": self.gate])
    let store = QueryStore.detached(mutation: mutation.deduplicated { _, _ in true })
    let late = try await self.lateSharer(of: store) { configuration in
      try await store.mutate(with: configuration == nil ? "a" : "b", using: configuration)
    }
    #expect(try await store.mutate(with: "c") == "C")
    #expect(spelled(store.history) == ["a: A", "b: loading", "c: C"])
    self.executor.release()
    #expect(try await late.value == "A")
    #expect(spelled(store.history) == ["a: A", "b: A", "c: C"])
    #expect(mutation.attempts.elements == ["a", "c"])
  }
}

/// How a store comes to another value.
private enum NewerValue: CaseIterable {
  case isFetched, isSet
}

extension DeduplicationTable {
  /// How many callers wait for the first of the fetches that are under way.
  fileprivate var waiterCount: Int {
    let fetch = self.state.withLock { $0.fetches.first }
    return fetch?.state.withLock { $0.waiters.count } ?? 0
  }
}
