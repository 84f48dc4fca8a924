import Query

/// `client.store(for:)` if there is no store yet, in clients of different sizes.
enum NewStoreRows {
  static let all = [Self.row(beside: 1000), Self.row(beside: 100_000), Self.growth]

  private static let batch = 500

  private static func row(beside count: Int) -> Row {
    Row(
      name: "store-new-beside-\(count)",
      title: "client.store(for:), 500 new ones beside \(count), each",
      goal: .atMost(5000),
      floor: "an object with a lock made and put under an AnyHashable",
      unit: .nanoseconds
    ) {
      let client = Self.client(holding: count)
      let objects = BareObjects(count: count)
      return Trial(
        figure: { try Self.create(in: client, beside: count) },
        floor: { try objects.create(Self.batch) }
      )
    }
  }

  private static let growth = Row(
    name: "store-new-growth",
    title: "client.store(for:), a new one beside 100000 as beside 1000",
    goal: .near(1.5),
    floor: "the same beside 1000",
    unit: .nanoseconds
  ) {
    let small = Self.client(holding: 1000)
    let large = Self.client(holding: 100_000)
    return Trial(
      figure: { try Self.create(in: large, beside: 100_000) },
      floor: { try Self.create(in: small, beside: 1000) }
    )
  }

  private static func client(holding count: Int) -> QueryClient {
    let client = QueryClient.withoutObservers()
    for number in 0..<count { _ = client.store(for: NumberQuery(number: number)) }
    return client
  }

  private static func create(in client: QueryClient, beside count: Int) throws -> Double {
    let queries = (count..<count + Self.batch).map { NumberQuery(number: $0) }
    var stores = [QueryStore<NumberQuery.State>]()
    stores.reserveCapacity(queries.count)
    let watch = Stopwatch()
    for query in queries { stores.append(client.store(for: query)) }
    let time = watch.nanoseconds(per: queries.count)
    let kept = queries.count { client.clearStore(with: $0.path) != nil }
    try expect(kept, Self.batch, "the new stores of the client")
    try expect(Set(stores.map(ObjectIdentifier.init)).count, Self.batch, "the new stores")
    return time
  }
}

// MARK: - Floor

/// Objects under the same keys, in a dictionary.
// @unchecked: the rounds of a row run one after another.
private final class BareObjects: @unchecked Sendable {
  private var objects = [AnyHashable: GuardedValue]()
  private let count: Int

  init(count: Int) {
    self.count = count
    for number in 0..<count { self.objects[NumberQuery(number: number)] = GuardedValue() }
  }

  func create(_ batch: Int) throws -> Double {
    let queries = (self.count..<self.count + batch).map { NumberQuery(number: $0) }
    var made = [GuardedValue]()
    made.reserveCapacity(queries.count)
    let watch = Stopwatch()
    for query in queries {
      let object = GuardedValue()
      self.objects[AnyHashable(query)] = object
      made.append(object)
    }
    let time = watch.nanoseconds(per: queries.count)
    let kept = queries.count { self.objects.removeValue(forKey: AnyHashable($0)) != nil }
    try expect(kept, batch, "the new objects")
    return time
  }
}
