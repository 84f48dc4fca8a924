import Query

/// Fetches that overlap and share the work of one.
enum DeduplicationRows {
  static let all = [Self.row(of: 1000), Self.row(of: 100)]

  private static func row(of count: Int) -> Row {
    Row(
      name: "fetch-deduplicated-\(count)",
      title: "\(count) concurrent deduplicated fetches, each",
      goal: .timesFloor(3),
      floor: "a task of a group awaits one that awaits a shared one",
      unit: .nanoseconds
    ) {
      let groups = max(1, 200 / count)
      return Trial(
        figure: { try await Self.average(of: groups) { try await Self.fetches(count) } },
        floor: { try await Self.average(of: groups) { try await Self.tasks(count) } }
      )
    }
  }

  private static func average(
    of groups: Int,
    _ group: () async throws -> Double
  ) async throws -> Double {
    var sum = 0.0
    for _ in 0..<groups { sum += try await group() }
    return sum / Double(groups)
  }

  @concurrent
  private static func fetches(_ count: Int) async throws -> Double {
    let gate = ArrivalGate(expecting: count)
    let query = GatedQuery(gate: gate).deduplicated().modifier(Arrival(gate: gate))
    let store = QueryStore.detached(query: query, initialValue: nil)
    let watch = Stopwatch()
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<count { group.addTask { try await store.fetch() } }
      return try await group.reduce(0, +)
    }
    let time = watch.nanoseconds(per: count)
    try expect(sum, count * 7, "the sum of the values")
    try expect(store.valueUpdateCount, count, "the updates of the store")
    // The caller that opens the gate may find that the shared fetch has ended before it joined.
    try expect(gate.passages <= 2, true, "whether the fetches shared their work")
    return time
  }

  @concurrent
  private static func tasks(_ count: Int) async throws -> Double {
    let gate = ArrivalGate(expecting: count)
    let watch = Stopwatch()
    let shared = Task {
      await gate.pass()
      return 7
    }
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<count {
        group.addTask {
          await Task {
            gate.arrive()
            return await shared.value
          }.value
        }
      }
      return try await group.reduce(0, +)
    }
    let time = watch.nanoseconds(per: count)
    try expect(sum, count * 7, "the sum of the values")
    return time
  }
}

// MARK: - Gate

/// Opens when as many have arrived as were expected, so that all really wait for one.
private final class ArrivalGate: Sendable {
  private struct State {
    var missing: Int
    var passages = 0
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state: Locked<State>

  init(expecting count: Int) { self.state = Locked(State(missing: count)) }

  var passages: Int { self.state.withLock { $0.passages } }

  func arrive() {
    let waiter = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.missing -= 1
      return state.missing == 0 ? state.waiter : nil
    }
    waiter?.resume()
  }

  func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = self.state.withLock { state in
        state.passages += 1
        if state.missing > 0 { state.waiter = continuation }
        return state.missing <= 0
      }
      if isOpen { continuation.resume() }
    }
  }
}

private struct GatedQuery: QueryRequest {
  let gate: ArrivalGate

  var path: QueryPath { QueryPath("gated") }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    await self.gate.pass()
    return 7
  }
}

/// Tells the gate of each fetch, before it is known to be a duplicate.
private struct Arrival<Query: QueryRequest>: QueryModifier {
  let gate: ArrivalGate

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    self.gate.arrive()
    return try await query.fetch(in: context, with: continuation)
  }
}
