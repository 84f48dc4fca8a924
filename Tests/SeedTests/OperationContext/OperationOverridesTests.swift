import Foundation
import Operation
import TestSupport
import Testing

// Document 001, "Overriding Time" and "Overriding Delays": blocks 6 and 7.

private struct Post: Sendable, Equatable {
  let id: Int
}

extension Post {
  fileprivate static func query(for id: Int) -> some QueryRequest<Self, Query.State> {
    Query(id: id).retry(limit: 2)
  }

  struct Query: QueryRequest, Hashable {
    let id: Int

    func fetch(
      in context: OperationContext,
      with continuation: OperationContinuation<Post, any Error>
    ) async throws -> Post {
      guard context.isLastRetryAttempt else { throw TestError() }
      return Post(id: id)
    }
  }
}

@Suite("Document 001: time and delays", .warningsAreIssues)
struct OperationOverridesTests {
  @Test("Block 6: the dates come from the clock of the context")
  func overridingTime() async throws {
    let store = OperationStore.detached(
      query: Post.query(for: 1),
      initialValue: nil
    )
    let date = Date(timeIntervalSince1970: 1_234_567_890)
    store.context.operationClock = .custom { date }

    store.context.operationDelayer = .noDelay
    try await store.fetch()

    #expect(store.valueLastUpdatedAt == date)

    store.setResult(to: .failure(TestError()))
    #expect(store.errorLastUpdatedAt == date)
  }

  @Test("Block 7: a delayer of the context replaces the delays of retries")
  func overridingDelays() async throws {
    let store = OperationStore.detached(
      query: Post.query(for: 1),
      initialValue: nil
    )
    store.context.operationDelayer = .noDelay

    try await store.fetch()  // Will incur no retry delays.

    #expect(store.currentValue == Post(id: 1))
  }

  @Test("Retries are delayed by an exponential backoff")
  func delays() async throws {
    let store = OperationStore.detached(query: Post.query(for: 1), initialValue: nil)
    let delayer = RecordingDelayer()
    store.context.operationDelayer = delayer

    try await store.fetch()

    #expect(delayer.delays == [1, 2])
  }

  @Test("A client that is made in a test makes no delays")
  func client() async throws {
    let store = OperationClient().store(for: Post.query(for: 1))
    #expect(store.context.operationDelayer is NoDelayer)

    try await store.fetch()
    #expect(store.currentValue == Post(id: 1))
  }
}
