import Query

/// The memory of an unused store.
enum StoreMemoryRows {
  static let all = [Self.idle]

  private static let count = 100_000

  private static let idle = Row(
    name: "store-memory",
    title: "memory of an idle store of 100000, index included",
    goal: .atMost(1536),
    floor: "an object with a lock in an AnyHashable dictionary",
    unit: .bytes
  ) {
    Trial(
      figure: {
        let client = QueryClient.withoutObservers()
        return try Self.bytes {
          for number in 0..<Self.count { _ = client.store(for: NumberQuery(number: number)) }
          return client.stores(matching: []).count
        }
      },
      floor: {
        var objects = [AnyHashable: GuardedValue]()
        return try Self.bytes {
          for number in 0..<Self.count {
            objects[AnyHashable(NumberQuery(number: number))] = GuardedValue()
          }
          return objects.count
        }
      },
      mostRounds: 5
    )
  }

  /// The bytes that are in use for each of the things that a closure makes and counts.
  private static func bytes(_ make: () -> Int) throws -> Double {
    let before = try Allocations.bytesInUse()
    let made = make()
    let after = try Allocations.bytesInUse()
    try expect(made, Self.count, "the things that were made")
    return Double(after - before) / Double(made)
  }
}
