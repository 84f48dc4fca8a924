import Query

/// `fetchNextPage` where few and where many pages are loaded.
enum PageRows {
  static let all = [Self.row(at: 10), Self.row(at: 2000)]

  private static let batch = 10

  private static func row(at length: Int) -> Row {
    Row(
      name: "next-page-\(length)",
      title: "fetchNextPage, no subscriber, around the \(length)th",
      goal: .timesFloor(12),
      floor: Floor.taskTitle,
      unit: .nanoseconds
    ) {
      let client = QueryClient.withoutObservers()
      let batches = max(2, 100 / length)
      return Trial(
        figure: { try await Self.average(of: batches, at: length, in: client) },
        floor: { try await Floor.tasks(1000) }
      )
    }
  }

  private static func average(
    of batches: Int,
    at length: Int,
    in client: QueryClient
  ) async throws -> Double {
    var sum = 0.0
    for _ in 0..<batches { sum += try await Self.fetches(at: length, in: client) }
    return sum / Double(batches)
  }

  @concurrent
  private static func fetches(at length: Int, in client: QueryClient) async throws -> Double {
    client.clearStores()
    let store = client.store(for: NumberPages())
    let start = length - Self.batch / 2
    for _ in 0..<start { try await store.fetchNextPage() }
    var sum = 0
    let watch = Stopwatch()
    for _ in 0..<Self.batch { sum &+= try await store.fetchNextPage()?.value ?? 0 }
    let time = watch.nanoseconds(per: Self.batch)
    try expect(sum, (start..<start + Self.batch).reduce(0) { $0 + $1 * 2 }, "the sum of the pages")
    let ids = store.currentValue.map(\.id)
    try expect(ids, Array(0..<start + Self.batch), "the pages of the store")
    return time
  }
}
