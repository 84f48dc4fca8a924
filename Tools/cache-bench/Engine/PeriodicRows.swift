import Query

/// How often a program wakes up that refetches many stores again and again.
enum PeriodicRows {
  static let all = [Self.row]

  private static let count = 10_000
  private static let seconds = 10

  private static let row = Row(
    name: "refetch-every-10000",
    title: ".refetch(every: 1 s) of 10000 stores with a subscriber, in 10 s",
    // The time begins with the end of a fetch, and may be a tenth shorter.
    goal: .atMost(12),
    floor: "of one store",
    unit: .wakeUps
  ) {
    Trial(
      figure: { try await Self.wakeUps(of: Self.count) },
      floor: { try await Self.wakeUps(of: 1) },
      mostRounds: 1
    )
  }

  /// The bursts in which the fetches begin.
  @concurrent
  private static func wakeUps(of count: Int) async throws -> Double {
    let client = QueryClient.withoutObservers()
    let starts = Locked([ContinuousClock.Instant]())
    let stores = (0..<count).map { number in
      client.store(
        for: NotedQuery(number: number, starts: starts).refetch(every: .seconds(1)))
    }
    let subscriptions = stores.map { $0.subscribe(with: QueryEventHandler()) }
    // After ten periods all are in step.
    try await Task.sleep(for: .seconds(11))
    let begin = ContinuousClock.now
    starts.withLock { $0 = [] }
    try await Task.sleep(for: .seconds(Self.seconds))
    let times = starts.withLock { starts in starts.filter { $0 >= begin }.sorted() }
    for subscription in subscriptions { subscription.cancel() }
    // The more the machine has to do besides, the longer a period's fetches take.
    let isWhole = times.count >= count * (Self.seconds / 3)
    try expect(isWhole, true, "whether all stores were refetched, with \(times.count) fetches")
    let gaps = zip(times, times.dropFirst()).count { $1 - $0 > .milliseconds(50) }
    return Double(gaps + 1)
  }
}

/// A query that notes when its fetches begin.
private struct NotedQuery: QueryRequest {
  let number: Int
  let starts: Locked<[ContinuousClock.Instant]>

  var path: QueryPath { ["noted", self.number] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Int>
  ) async throws -> Int {
    self.starts.withLock { $0.append(.now) }
    return self.number
  }
}
