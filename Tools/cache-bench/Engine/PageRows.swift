import Query

/// `fetchNextPage` with few and with many pages loaded.
enum PageRows {
  static let all = [Self.row(at: 10), Self.row(at: 2000)]

  private static func row(at length: Int) -> Row {
    .growing(name: "next-page", title: "fetchNextPage, no subscriber", length: length, limit: 12) {
      range, client in
      try await Self.fetches(range, in: client)
    }
  }

  @concurrent
  private static func fetches(_ range: Range<Int>, in client: QueryClient) async throws -> Double {
    let store = client.store(for: NumberPages())
    for _ in 0..<range.lowerBound { try await store.fetchNextPage() }
    var sum = 0
    let watch = Stopwatch()
    for _ in range { sum &+= try await store.fetchNextPage()?.value ?? 0 }
    let time = watch.nanoseconds(per: range.count)
    try expect(sum, range.reduce(0) { $0 + $1 * 2 }, "the sum of the pages")
    let ids = store.currentValue.map(\.id)
    try expect(ids, Array(0..<range.upperBound), "the pages of the store")
    return time
  }
}
