import Query

/// Fetches one after another from a store without subscribers.
enum FetchRows {
  static let all = [Self.detached, Self.client, Self.main]

  private static let detached = Row(
    name: "fetch-detached",
    title: "fetch, detached store, value at once",
    goal: .timesFloor(6),
    floor: Floor.taskTitle,
    unit: .nanoseconds
  ) {
    Self.trial { .detached(query: $0, initialValue: nil) }
  }

  private static let client = Row(
    name: "fetch-client",
    title: "fetch, default client",
    goal: .timesFloor(10),
    floor: Floor.taskTitle,
    unit: .nanoseconds
  ) {
    let client = QueryClient.withoutObservers()
    return Self.trial { query in
      // A store of its own for each round, so that the count of its updates can be checked.
      client.clearStores()
      return client.store(for: query)
    }
  }

  private static let main = Row(
    name: "fetch-main",
    title: "fetch on the main actor, default client",
    goal: .timesFloor(1.3),
    floor: "a hop from the main actor and back",
    unit: .nanoseconds
  ) {
    let client = QueryClient.withoutObservers()
    return Trial(
      figure: {
        client.clearStores()
        return try await Self.fetches(
          50, from: client.store(for: NumberQuery(number: 7)), isolation: MainActor.shared)
      },
      floor: { try await Self.hops(50) }
    )
  }

  private static func trial(
    _ store: @escaping @Sendable (NumberQuery) -> QueryStore<NumberQuery.State>
  ) -> Trial {
    let count = 250
    return Trial(
      figure: {
        try await Self.fetches(count, from: store(NumberQuery(number: 7)), isolation: nil)
      },
      floor: { try await Floor.tasks(1000) }
    )
  }

  private static func fetches(
    _ count: Int,
    from store: QueryStore<NumberQuery.State>,
    isolation: isolated (any Actor)?
  ) async throws -> Double {
    var sum = 0
    let watch = Stopwatch()
    for _ in 0..<count { sum &+= try await store.fetch() }
    let time = watch.nanoseconds(per: count)
    try expect(sum, count * 7, "the sum of the values")
    try expect(store.valueUpdateCount, count, "the updates of the store")
    return time
  }

  @MainActor
  private static func hops(_ count: Int) async throws -> Double {
    var sum = 0
    let watch = Stopwatch()
    for number in 0..<count { sum &+= await Self.elsewhere(number) }
    let time = watch.nanoseconds(per: count)
    try expect(sum, count * (count - 1) / 2, "the sum of the numbers")
    return time
  }

  // With an effect: the optimiser leaves out a hop that nothing needs.
  @concurrent
  private static func elsewhere(_ number: Int) async -> Int {
    Self.visits.withLock { $0 &+= 1 }
    return number
  }

  private static let visits = Locked(0)
}
