import Query

/// `mutate` where the history is short and where it is long.
enum MutationRows {
  static let all = [Self.row(at: 10), Self.row(at: 5000)]

  private static let batch = 10

  private static func row(at length: Int) -> Row {
    Row(
      name: "mutate-\(length)",
      title: "mutate, around the \(length)th",
      goal: .timesFloor(10),
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
    for _ in 0..<batches { sum += try await Self.mutations(at: length, in: client) }
    return sum / Double(batches)
  }

  @concurrent
  private static func mutations(at length: Int, in client: QueryClient) async throws -> Double {
    client.clearStores()
    let store = client.store(for: Doubling())
    let start = length - Self.batch / 2
    for number in 0..<start { try await store.mutate(with: number) }
    var sum = 0
    let watch = Stopwatch()
    for number in start..<start + Self.batch { sum &+= try await store.mutate(with: number) }
    let time = watch.nanoseconds(per: Self.batch)
    let expected = (start..<start + Self.batch).reduce(0) { $0 + $1 * 2 }
    try expect(sum, expected, "the sum of the values")
    let arguments = store.history.map(\.arguments)
    try expect(arguments, Array(0..<start + Self.batch), "the history of the store")
    return time
  }
}
