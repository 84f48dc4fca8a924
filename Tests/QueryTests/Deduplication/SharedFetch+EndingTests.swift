import TestSupport
import Testing

@testable import Query

@Suite(.warningsAreIssues) struct SharedFetchEndingTests {
  private let shared = SharedFetch<Int>(
    context: QueryContext(), continuation: QueryContinuation { _, _ in })

  /// It has left before it waited, and the work has ended since.
  @Test func aCallerThatHasLeftGetsNothingOfTheResult() async throws {
    let (shared, gate) = (self.shared, Gate())
    let member = try #require(shared.join())
    let run = Task {
      try await shared.run(
        BlockQuery<Int>(["work"]) { _ in
          try await gate.pass()
          throw TestError()
        }, isolation: nil, onEnd: {})
    }
    await gate.arrival()
    shared.leave(member, {})
    gate.open()
    await #expect(throws: TestError.self) { try await run.value }
    await #expect(throws: CancellationError.self) {
      try await shared.value(for: member, isolation: nil, onLeave: {})
    }
  }

  /// What is kept for those on their way to it would otherwise be abandoned behind their back.
  @Test func aCallerThatIsCancelledOnceTheWorkHasEndedLeavesNoMore() async throws {
    let (shared, leavings) = (self.shared, Counter())
    let value = try await shared.run(SharedQuery { $0.number }, isolation: #isolation) {
      shared.leave(SharedFetch<Int>.firstMember) { leavings.increment() }
    }
    #expect(value == 1)
    #expect(leavings.value == 0)
    #expect(try shared.sharedResult?.get() == 1)
  }

  /// It is in the table until then, where one that finds it has to get something.
  @Test func aCallerThatJoinsBeforeTheTableKnowsOfTheEndHasTheResult() async throws {
    let (shared, members) = (self.shared, Recorder<Int?>())
    let value = try await shared.run(SharedQuery { $0.number }, isolation: #isolation) {
      members.append(shared.join())
    }
    #expect(value == 1)
    let member = try #require(members.elements.first ?? nil)
    #expect(try await shared.value(for: member, isolation: #isolation, onLeave: {}) == 1)
    #expect(shared.join() == nil, "the table knows of it now")
  }

  // MARK: - Left behind

  /// It is the first result that the store gets, and no later fetch gets it.
  @Test(arguments: [false, true]) @MainActor
  func whoJoinsAFetchThatWasLeftBehindBringsItsResult(readsStored: Bool) async throws {
    let (gate, predicate) = (Gate(), AskingPredicate())
    let query = SharedQuery { call in
      // What is noted of a work is released with its last caller.
      if readsStored { _ = call.context.storedValue }
      try await gate.pass()
      return call.number
    }
    let store = query.deduplicated(by: predicate.isDuplicate)
      .modifier(LeavingModifier(gate: gate)).sharedStore()
    await #expect(throws: TestError.self) { try await store.fetch() }
    let joiner = store.fetchInTask()
    await predicate.questions.wait(forCount: 1)
    gate.open()
    #expect(try await joiner.value == 1)
    #expect(store.currentValue == 1)
    #expect(store.error == nil)
    #expect(try await store.fetch() == 2, "it was made later")
    #expect(store.currentValue == 2)
  }

  @Test @MainActor func whatAFetchThatWasLeftBehindComesToIsNotShared() async throws {
    let gate = Gate()
    let store = SharedQuery(gate).deduplicated().modifier(LeavingModifier(gate: gate)).sharedStore()
    await #expect(throws: TestError.self) { try await store.fetch() }
    let table = try #require(store.context.deduplicationTable(of: Int.self))
    gate.open()
    while table.state.withLock({ !$0.fetches.isEmpty }) { await Task.yield() }
    #expect(try await store.fetch() == 2)
  }
}

/// Leaves its first request behind once that is at a gate: the fetch fails, and the request goes on. A time limit
/// does the same until the request is cancelled.
private struct LeavingModifier<Query: QueryRequest>: QueryModifier {
  let gate: Gate
  private let fetches = Counter()

  init(gate: Gate) { self.gate = gate }

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    guard self.fetches.increment() == 1 else {
      return try await query.fetch(in: context, with: continuation)
    }
    Task { try await query.fetch(in: context, with: continuation) }
    await self.gate.arrival()
    throw TestError()
  }
}
