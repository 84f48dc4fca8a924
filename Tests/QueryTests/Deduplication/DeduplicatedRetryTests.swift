import TestSupport
import Testing

@testable import Query

/// Retries around a layer that deduplicates, as of a mutation that is `deduplicated(by:)` in a client: each attempt
/// comes to that layer anew.
@Suite(.warningsAreIssues) struct DeduplicatedRetryTests {
  private let pause = Gate()

  @Test func aFetchInThePauseOfAnotherOneAsks() async throws {
    let retries = Recorder<Int>()
    let store = SharedQuery { call in
      retries.append(call.context.retryIndex)
      if call.number == 1 { throw TestError() }
      return call.number
    }
    .deduplicated().retry(limit: 1).delayer(FirstPause(gate: self.pause)).sharedStore()
    let paused = Task { try await store.fetch() }
    await self.pause.arrival()
    #expect(try await store.fetch() == 2)
    self.pause.open()
    #expect(try await paused.value == 3)
    #expect(retries.elements == [0, 0, 1])
  }

  /// One of two callers leaves in the pause, and the other one's second attempt does work of its own.
  @Test func nothingOfAnEndedAttemptIsTakenForALaterOne() async throws {
    let gate = Gate()
    let joined = AskingPredicate()
    let query = SharedQuery { call in
      if call.number == 1 {
        try await gate.pass()
        throw TestError()
      }
      return call.number
    }
    let store = query.deduplicated(by: joined.isDuplicate).retry(limit: 3)
      .delayer(RecordingDelayer(gate: self.pause)).sharedStore()
    let leaving = Task { try await store.fetch() }
    await gate.arrival()
    let staying = Task { try await store.fetch() }
    await joined.questions.wait(forCount: 1)
    gate.open()
    await self.pause.arrival(2)
    leaving.cancel()
    await #expect(throws: CancellationError.self) { try await leaving.value }
    self.pause.open()
    #expect(try await staying.value == 2)
    for number in 3...5 { #expect(try await store.fetch() == number) }
    #expect(!store.isLoading)
  }

  @Test func aMutationAfterARetriedOneIsSent() async throws {
    let (gate, sent) = (Gate(), Recorder<Int>())
    let save = BlockMutation(["save"]) { (number: Int, _: QueryContext) -> Int in
      sent.append(number)
      if sent.elements.count == 1 {
        try await gate.pass()
        throw TestError()
      }
      return number
    }
    .deduplicated(by: { _, _ in true })
    let client = QueryClient(
      storeCreator: .default(
        retryLimit: 3, backoff: .constant(1), delayer: RecordingDelayer(gate: self.pause)))
    let store = client.store(for: save)
    let leaving = Task { try await store.mutate(with: 1) }
    await gate.arrival()
    let staying = Task { try await store.mutate(with: 1) }
    while store.history.count < 2 { await Task.yield() }
    gate.open()
    // Whether the second one has joined the first, or comes to the layer when that is over.
    await self.pause.arrival()
    leaving.cancel()
    _ = await leaving.result
    self.pause.open()
    #expect(try await staying.value == 1)
    for number in 2...4 { #expect(try await store.mutate(with: number) == number) }
    #expect(sent.elements.suffix(3) == [2, 3, 4])
  }

  /// Its own task counted as another one at work, since its source was the fetch that it had shared.
  @Test func aPageThatWasSharedIsFetchedAgainWithoutWaitingForItself() async throws {
    let (gate, source) = (Gate(), PageSource())
    let joined = AskingPredicate { TestPagesState._isDuplicate($0, $1) }
    let query = PagesQuery(source) { call in
      if call.index > 0 { return call.id * 10 }
      try await gate.pass()
      call.continuation.yield(5)
      throw TestError()
    }
    let store = QueryStore.detached(
      query: query.deduplicated(by: joined.isDuplicate).retry(limit: 1)
        .delayer(RecordingDelayer(gate: self.pause)))
    async let previous = store.fetchPreviousPage()
    await gate.arrival()
    async let all = store.fetch()
    await joined.questions.wait(forCount: 1)
    gate.open()
    await self.pause.arrival(2)
    self.pause.open()
    _ = try await (previous, all)
    #expect(!store.isLoading)
  }
}

/// A delayer of which the first delay waits at a gate, and no other waits.
private final class FirstPause: QueryDelayer {
  private let count = Counter()
  private let gate: Gate

  init(gate: Gate) { self.gate = gate }

  func delay(for seconds: Double) async throws {
    if self.count.increment() == 1 { try await self.gate.pass() }
  }
}
