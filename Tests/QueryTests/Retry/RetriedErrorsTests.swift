import Foundation
import Query
import TestSupport
import Testing

/// After which errors another attempt is made.
@Suite(.warningsAreIssues) struct RetriedErrorsTests {
  private let delayer = RecordingDelayer()
  private let attempts = Counter()

  private func failing(_ error: any Error) -> ProbeQuery {
    ProbeQuery(onFetch: { [attempts] _, _ in
      attempts.increment()
      throw error
    })
  }

  @Test(arguments: [
    (400, 1), (401, 1), (403, 1), (404, 1), (410, 1), (412, 1), (422, 1), (501, 1),
    (407, 3), (408, 3), (425, 3), (429, 3), (500, 3), (503, 3),
  ])
  func aStatusThatStaysIsNotAskedForAgain(_ status: Int, _ attempts: Int) async {
    let query = self.failing(HTTPStatusError(statusCode: status)).retry(limit: 2).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: HTTPStatusError.self) { try await store.fetch() }
    #expect(self.attempts.value == attempts)
  }

  @Test(arguments: [
    (0, [1.0, 2], 3), (20, [20, 20], 3), (30, [30, 30], 3), (31, [], 1), (3_600, [], 1),
  ])
  func whatAServerAsksToWaitIsWaitedIfItIsNotLong(
    _ seconds: Int, _ delays: [Double], _ attempts: Int
  ) async {
    let error = HTTPStatusError(statusCode: 503, retryAfter: .seconds(seconds))
    let query = self.failing(error).retry(limit: 2).delayer(self.delayer)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: error) { try await store.fetch() }
    #expect(self.delayer.delays == delays)
    #expect(self.attempts.value == attempts)
  }

  @Test func theCallerSaysWhatMayPass() async {
    for (error, attempts) in [(HTTPStatusError(statusCode: 404), 3), (.init(statusCode: 503), 4)] {
      let query = self.failing(error)
        .retry(limit: 2) { ($0 as? HTTPStatusError)?.statusCode == 404 }
        .delayer(.noDelay)
      let store = QueryStore.detached(query: query, initialValue: nil)
      await #expect(throws: error) { try await store.fetch() }
      #expect(self.attempts.value == attempts)
    }
  }

  @Test(
    arguments: [
      CancellationError(), URLError(.cancelled),
      MutationAppliedError(underlying: HTTPStatusError(statusCode: 500)),
    ] as [any Error])
  func theCallerIsNotAskedAboutCancellationsAndWhatHasBeenDone(_ error: any Error) async {
    let query = self.failing(error).retry(limit: 2) { _ in true }.delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: (any Error).self) { try await store.fetch() }
    #expect(self.attempts.value == 1)
  }

  /// What saves a write, or waits for one, must not save it once more.
  @Test func whatBecameOfAWriteIsNotAskedForAgain() async {
    let id = UUID()
    let errors: [any Error] = [
      MutationEndedError(id: id, reason: .cancelled),
      MutationQueuedError(id: id, idempotencyKey: "key", waitReason: nil, underlyingError: nil),
      MutationAppliedError(underlying: HTTPStatusError(statusCode: 500)),
    ]
    for (count, error) in errors.enumerated() {
      let query = self.failing(error).retry(limit: 2).delayer(.noDelay)
      let store = QueryStore.detached(query: query, initialValue: nil)
      await #expect(throws: (any Error).self) { try await store.fetch() }
      #expect(self.attempts.value == count + 1)
    }
  }

  private struct UnusableAnswer: AnsweredError {}

  /// Its server has carried the mutation out; of any other error that is of the program's own the library
  /// does not know that.
  @Test(arguments: [(UnusableAnswer(), 1), (TestError("unknown"), 3)] as [(any Error, Int)])
  func aMutationThatWasAnsweredIsNotSentAgain(_ error: any Error, _ attempts: Int) async {
    let client = QueryClient(storeCreator: .default(retryLimit: 2, delayer: .noDelay))
    let mutation = BlockMutation<String, Int>(["send"]) { [attempts = self.attempts] _, _ in
      attempts.increment()
      throw error
    }
    await #expect(throws: (any Error).self) {
      try await client.store(for: mutation).mutate(with: "a")
    }
    #expect(self.attempts.value == attempts)
  }

  @Test func aQueryThatWasAnsweredIsAskedForAgain() async {
    let client = QueryClient(storeCreator: .default(retryLimit: 2, delayer: .noDelay))
    let store = client.store(for: self.failing(UnusableAnswer()))
    await #expect(throws: UnusableAnswer.self) { try await store.fetch() }
    #expect(self.attempts.value == 3)
  }

  /// It carries the write out at this moment.
  @Test func aMutationThatItsServerIsBusyWithIsNotSentAgain() async {
    let client = QueryClient(storeCreator: .default(retryLimit: 2, delayer: .noDelay))
    let error = HTTPStatusError(statusCode: 409, retryAfter: .seconds(1))
    let mutation = BlockMutation<String, Int>(["send"]) { [attempts] _, _ in
      attempts.increment()
      throw error
    }
    await #expect(throws: error) { try await client.store(for: mutation).mutate(with: "a") }
    #expect(self.attempts.value == 1)
  }

  /// Its server has no key by which it would know it again.
  @Test(arguments: [
    (URLError.Code.networkConnectionLost, 1), (.timedOut, 1), (.cannotConnectToHost, 3),
  ])
  func aMutationThatMayHaveArrivedIsSentAgainOnlyIfItSaysSo(
    _ code: URLError.Code, _ byDefault: Int
  ) async {
    let client = QueryClient(storeCreator: .default(retryLimit: 2, delayer: .noDelay))
    let mutation = BlockMutation<String, Int>(["send"]) { [attempts] _, _ in
      attempts.increment()
      throw URLError(code)
    }
    await #expect(throws: URLError.self) { try await client.store(for: mutation).mutate(with: "a") }
    #expect(self.attempts.value == byDefault)
    let other = QueryClient(storeCreator: .default(retryLimit: 2, delayer: .noDelay))
    let patient = other.store(for: mutation.retry(limit: 2))
    await #expect(throws: URLError.self) { try await patient.mutate(with: "a") }
    #expect(self.attempts.value == byDefault + 3)
  }
}
