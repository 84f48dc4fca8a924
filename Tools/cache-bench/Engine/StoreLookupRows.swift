import Query

/// `client.store(for:)` if the store exists.
enum StoreLookupRows {
  static let all = [Self.existing]

  private static let count = 1000

  private static let existing = Row(
    name: "store-exists",
    title: "client.store(for:), store exists, of 1000",
    goal: .timesFloor(2),
    floor: "AnyHashable made and looked up",
    unit: .nanoseconds
  ) {
    let client = QueryClient.withoutObservers()
    // Not in the order of their creation, which memory is laid out in.
    let queries = (0..<Self.count).map {
      NumberQuery(number: $0 * 7919 % Self.count)
    }
    let stores = queries.sorted { $0.number < $1.number }.map { client.store(for: $0) }
    let expected = queries.map { ObjectIdentifier(stores[$0.number]) }
    // Never changed, and the keys are queries, which are Sendable.
    nonisolated(unsafe) let numbers = Dictionary(
      uniqueKeysWithValues: queries.map { (AnyHashable($0), $0.number) }
    )
    return Trial(
      figure: { try Self.lookUp(queries, in: client, expected) },
      floor: { try Self.lookUp(queries, in: numbers) }
    )
  }

  private static func lookUp(
    _ queries: [NumberQuery],
    in client: QueryClient,
    _ expected: [ObjectIdentifier]
  ) throws -> Double {
    var hits = 0
    let watch = Stopwatch()
    for index in queries.indices {
      let store = client.store(for: queries[index])
      if ObjectIdentifier(store) == expected[index] { hits += 1 }
    }
    let time = watch.nanoseconds(per: Self.count)
    try expect(hits, Self.count, "the stores that were found")
    return time
  }

  private static func lookUp(
    _ queries: [NumberQuery],
    in numbers: [AnyHashable: Int]
  ) throws -> Double {
    var hits = 0
    let watch = Stopwatch()
    for query in queries where numbers[AnyHashable(query)] == query.number { hits += 1 }
    let time = watch.nanoseconds(per: Self.count)
    try expect(hits, Self.count, "the numbers that were found")
    return time
  }
}
