import Query

/// `mutate` with a short history and with a long one.
enum MutationRows {
  static let all = [Self.row(at: 10), Self.row(at: 5000)]

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
}
