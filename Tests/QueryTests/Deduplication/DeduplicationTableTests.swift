import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct DeduplicationTableTests {
  @Test @MainActor func aThousandFetchesAtOnceAreOneCall() async throws {
    let gate = Gate()
    let query = SharedQuery(gate)
    let predicate = AskingPredicate()
    let store = query.deduplicated(by: predicate.isDuplicate).sharedStore()
    let fetches = (0..<1_000).map { _ in store.fetchInTask() }
    // All but the first have joined when the predicate was called for each.
    await predicate.questions.wait(forCount: 999)
    gate.open()
    for fetch in fetches { #expect(try await fetch.value == 1) }
    #expect(query.fetches.value == 1)
    #expect(store.valueUpdateCount == 1_000)
    #expect(!store.isLoading)
  }

  @Test func aThousandDifferentFetchesAtOnceAreAsManyCalls() async throws {
    let gate = Gate()
    let query = SharedQuery(gate)
    let store = query.deduplicated { _, _ in false }.sharedStore()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<200 { group.addTask { try await store.fetch() } }
      await gate.arrival(200)
      gate.open()
      var values = Set<Int>()
      for try await value in group { values.insert(value) }
      #expect(values == Set(1...200))
    }
    #expect(store.valueUpdateCount == 200)
  }

  @Test func ofFirstFetchesAtOnceOneIsTheFirst() async throws {
    for _ in 0..<200 {
      let gate = Gate()
      let query = SharedQuery(gate)
      let store = query.deduplicated().sharedStore()
      async let first = store.fetch()
      async let second = store.fetch()
      await store.waitForState { $0.activeTasks.count == 2 }
      gate.open()
      let values = try await (first, second)
      // The later one came either while the other ran or after it.
      #expect(values == (1, 1) || Set([values.0, values.1]) == [1, 2])
      #expect(query.fetches.value == Set([values.0, values.1]).count)
    }
  }

  /// Callers that come and are cancelled at random: each gets a value or a cancellation, and no
  /// caller waits for ever.
  @Test(.timeLimit(.minutes(10)), arguments: [UInt64(1), 2, 3, 4])
  func randomCancellations(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let query = SharedQuery { call in
      for _ in 0..<call.number % 7 { await Task.yield() }
      if call.number.isMultiple(of: 5) { throw TestError() }
      return call.number
    }
    let store = query.deduplicated().sharedStore()
    let outcomes = Recorder<String>()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2_000 {
        let patience = Int.random(in: 0...6, using: &random)
        group.addTask {
          let task = Task { try await store.fetch() }
          if patience < 5 {
            for _ in 0..<patience { await Task.yield() }
            task.cancel()
          }
          do {
            let value = try await task.value
            outcomes.append(value > 0 ? "value" : "wrong")
          } catch {
            outcomes.append(error is CancellationError ? "cancelled" : "\(error)")
          }
        }
      }
    }
    let expected: Set<String> = ["value", "cancelled", "TestError(expected)"]
    #expect(outcomes.count == 2_000, "seed \(seed)")
    #expect(Set(outcomes.elements).isSubset(of: expected), "seed \(seed)")
    #expect(store.valueUpdateCount + store.errorUpdateCount == 2_000, "seed \(seed)")
    #expect(!store.isLoading, "seed \(seed)")
    // Nothing is left behind that a new fetch would join.
    let before = query.fetches.value
    _ = try? await store.fetch()
    #expect(query.fetches.value == before + 1, "seed \(seed)")
  }
}
