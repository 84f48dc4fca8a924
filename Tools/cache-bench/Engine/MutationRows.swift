import Query

/// `mutate` with a short history and with a long one.
enum MutationRows {
  static let all = [Self.row(at: 10), Self.row(at: 5000), Self.kept]

  private static func row(at length: Int) -> Row {
    .growing(name: "mutate", title: "mutate", length: length, limit: 10) { range, client in
      try await Self.mutations(range, in: client)
    }
  }

  @concurrent
  private static func mutations(_ range: Range<Int>, in client: QueryClient) async throws -> Double
  {
    let store = client.store(for: Doubling().maxHistory(length: .max))
    for number in 0..<range.lowerBound { try await store.mutate(with: number) }
    var sum = 0
    let watch = Stopwatch()
    for number in range { sum &+= try await store.mutate(with: number) }
    let time = watch.nanoseconds(per: range.count)
    try expect(sum, range.reduce(0) { $0 + $1 * 2 }, "the sum of the values")
    let arguments = store.history.map(\.arguments)
    try expect(arguments, Array(0..<range.upperBound), "the history of the store")
    return time
  }

  /// While a handler keeps the last state, the history cannot be changed in its place.
  private static let kept = Row(
    name: "mutate-kept-10000",
    title: "mutate, 10000 in the history, a handler keeps the state",
    goal: .timesFloor(10),
    floor: Floor.taskTitle,
    unit: .nanoseconds
  ) {
    let client = QueryClient.withoutObservers()
    let store = client.store(for: Doubling().maxHistory(length: 10_000))
    for number in 0..<10_000 { try await store.mutate(with: number) }
    return Trial(
      figure: { try await Self.keepingEachState(of: store) },
      floor: { try await Floor.tasks(1000) }
    )
  }

  /// So many that what is copied now and then is copied in each round.
  private static let keptCount = 4_000

  @concurrent
  private static func keepingEachState(
    of store: QueryStore<MutationState<Int, Int>>
  ) async throws -> Double {
    let kept = Locked(store.state)
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in
        // What is let go is freed after the lock.
        let old = kept.withLock { kept in
          defer { kept = state }
          return kept
        }
        withExtendedLifetime(old) {}
      }))
    let watch = Stopwatch()
    for number in 0..<Self.keptCount { try await store.mutate(with: number) }
    let time = watch.nanoseconds(per: Self.keptCount)
    subscription.cancel()
    let state = kept.withLock { $0 }
    try expect(state.history.count, 10_000, "the history of the state")
    let arguments = state.history.suffix(Self.keptCount).map(\.arguments)
    try expect(arguments, Array(0..<Self.keptCount), "the end of the history")
    return time
  }
}
