import Foundation
import TestSupport
import Testing

@testable import Query

@Suite(.warningsAreIssues) struct QueryContinuationValuesTests {
  /// Says that nothing changed, from the second fetch on.
  private struct Validated: QueryRequest, Hashable {
    var path: QueryPath { ["validated"] }

    func fetch(
      in context: QueryContext, with continuation: QueryContinuation<[Int]>
    ) async throws -> [Int] {
      guard context.storedValue?.metadata != nil else {
        return continuation.returning([1], metadata: Data([1]))
      }
      return try continuation.unchanged()
    }
  }

  /// Adds an element, with a continuation of its own.
  private struct Appending<Query: QueryRequest>: QueryModifier where Query.Value == [Int] {
    func fetch(
      in context: QueryContext, using query: Query, with continuation: QueryContinuation<[Int]>
    ) async throws -> [Int] {
      let own = QueryContinuation<[Int]> { result, context in
        continuation.yield(with: result.map { $0 + [0] }, using: context)
      }
      return try await query.fetch(in: context, with: own) + [0]
    }
  }

  @Test func withoutAValueNothingCanBeKept() async throws {
    let query = BlockQuery<Int>(["none"]) { _, continuation in try continuation.unchanged() }
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: QueryUnchangedError.noValue) { try await store.fetch() }
    let alone = QueryContinuation<Int> { _, _ in }
    #expect(throws: QueryUnchangedError.noValue) { try alone.unchanged() }
    #expect(alone.returning(3, metadata: nil) == 3)
    #expect(QueryContext().storedValue == nil)
  }

  @Test func aModifierChangesAValueOnce() async throws {
    let store = QueryStore.detached(query: Validated().modifier(Appending()), initialValue: nil)
    #expect(try await store.fetch() == [1, 0])
    #expect(try await store.fetch() == [1, 0])
    #expect(store.currentValue == [1, 0])
    #expect(store.valueUpdateCount == 2)
  }

  @Test func itPassesThroughAllLayers() async throws {
    let query = Validated().retry(limit: 2).timeout(after: .seconds(60)).modifier(Appending())
      .deduplicated()
    let store = QueryClient().store(for: query)
    for _ in 0..<3 { #expect(try await store.fetch() == [1, 0]) }
    #expect(store.currentValue == [1, 0])
  }

  @Test func sharedFetchesKeepTheValueEach() async throws {
    let gate = Gate()
    let query = BlockQuery<Int>(["shared"]) { context, continuation in
      guard context.storedValue != nil else { return continuation.returning(7, metadata: nil) }
      try await gate.pass()
      return try continuation.unchanged()
    }
    let store = QueryStore.detached(query: query.deduplicated(), initialValue: nil)
    try await store.fetch()
    async let first = store.fetch()
    await gate.arrival()
    async let second = store.fetch()
    while store.activeTasks.count < 2 { await Task.yield() }
    gate.open()
    let values = try await [first, second]
    #expect(values == [7, 7])
    #expect(store.valueUpdateCount == 3)
  }

  @Test func whatAFailedAttemptHasSaidDoesNotCount() async throws {
    let attempts = Counter()
    let query = BlockQuery<Int>(["again"]) { context, continuation in
      switch attempts.increment() {
      case 1: return continuation.returning(1, metadata: Data([1]))
      case 2:
        _ = try continuation.unchanged()
        throw TestError("after all")
      default: return 3
      }
    }
    let store = QueryStore.detached(
      query: query.retry(limit: 1).backoff(.noBackoff), initialValue: nil)
    try await store.fetch()
    #expect(try await store.fetch() == 3)
    #expect(store.currentValue == 3)
  }

  @Test func theConfirmedValueTakesThePlaceOfOneThatWasSetMeanwhile() async throws {
    let gate = Gate()
    let store = QueryStore.detached(query: BlockQuery.confirmingLate(gate), initialValue: nil)
    try await store.fetch()
    let slow = Task { try await store.fetch() }
    await gate.arrival()
    store.currentValue = 2
    gate.open()
    #expect(try await slow.value == 1)
    #expect(store.currentValue == 1)
    _ = try await store.fetch()
    #expect(store.valueUpdateCount == 4)
  }

  @Test func anInvalidationDuringTheFetchStays() async throws {
    let gate = Gate()
    let query = BlockQuery<Int>(["invalidated"]) { context, continuation in
      guard context.storedValue != nil else { return 1 }
      try await gate.pass()
      return try continuation.unchanged()
    }
    let store = QueryStore.detached(query: query, initialValue: nil)
    try await store.fetch()
    let slow = Task { try await store.fetch() }
    await gate.arrival()
    store.invalidate()
    gate.open()
    _ = try await slow.value
    #expect(store.isInvalidated)
    #expect(store.valueUpdateCount == 2)
  }

  @Test func aQueryWithADefaultValueKeepsItsValue() async throws {
    let store = QueryStore.detached(query: Validated().defaultValue([]))
    try await store.fetch()
    try await store.fetch()
    #expect(store.currentValue == [1])
    #expect(store.valueUpdateCount == 2)
  }
}
