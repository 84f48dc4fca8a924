import Query

/// `client.stores(matching:)`.
enum MatchingRows {
  static let all = [Self.tenth]

  private static let groupCount = 10
  private static let groupSize = 1000
  private static let count = 20

  private static let tenth = Row(
    name: "stores-matching",
    title: "stores(matching:), a tenth of 10000, all looked at",
    goal: .atMost(80_000),
    floor: "a dictionary in an AnyHashable dictionary, all looked at",
    unit: .nanoseconds
  ) {
    let client = QueryClient.withoutObservers()
    // Not changed after the loop; its keys are numbers and strings, which are Sendable.
    nonisolated(unsafe) var objects = [AnyHashable: [AnyHashable: GuardedValue]]()
    for number in 0..<Self.groupSize {
      for group in 0..<Self.groupCount {
        _ = client.store(for: GroupedQuery(group: group, number: number))
        objects[GroupedQuery.name(ofGroup: group), default: [:]][number] = GuardedValue()
      }
    }
    return Trial(
      figure: { try Self.look(through: client) },
      floor: { try Self.look(through: objects) }
    )
  }

  private static func look(through client: QueryClient) throws -> Double {
    let paths = (0..<Self.groupCount).map { QueryPath(GroupedQuery.name(ofGroup: $0)) }
    let other = client.store(for: NumberQuery(number: 0))
    let stranger = OpaqueQueryStore(erasing: other)
    client.clearStore(with: other.path)
    var counted = 0
    var seen = 0
    let watch = Stopwatch()
    for index in 0..<Self.count {
      let stores = client.stores(matching: paths[index % paths.count])
      counted += stores.count
      for store in stores where store !== stranger { seen += 1 }
    }
    let time = watch.nanoseconds(per: Self.count)
    try expect(counted, Self.count * Self.groupSize, "the counts of the matching stores")
    try expect(seen, Self.count * Self.groupSize, "the matching stores")
    return time
  }

  private static func look(
    through objects: [AnyHashable: [AnyHashable: GuardedValue]]
  ) throws -> Double {
    let names = (0..<Self.groupCount).map(GroupedQuery.name(ofGroup:))
    let stranger = GuardedValue()
    var counted = 0
    var seen = 0
    let watch = Stopwatch()
    for index in 0..<Self.count {
      let group = objects[AnyHashable(names[index % names.count])] ?? [:]
      counted += group.count
      for (_, object) in group where object !== stranger { seen += 1 }
    }
    let time = watch.nanoseconds(per: Self.count)
    try expect(counted, Self.count * Self.groupSize, "the counts of the matching objects")
    try expect(seen, Self.count * Self.groupSize, "the matching objects")
    return time
  }
}
