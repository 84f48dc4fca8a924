import Query

/// `store.currentValue =`, with and without subscribers.
enum CurrentValueRows {
  static let all = [
    Self.row(subscribers: 0, goal: 150, count: 10_000),
    Self.row(subscribers: 100, goal: 3500, count: 200),
  ]

  private static func row(subscribers: Int, goal: Double, count: Int) -> Row {
    Row(
      name: "set-value-subscribers-\(subscribers)",
      title: "currentValue =, subscribers: \(subscribers)",
      goal: .atMost(goal),
      floor: "value and date set under a recursive lock, closures called",
      unit: .nanoseconds
    ) {
      Trial(
        figure: { try Self.setStore(count, subscribers) },
        floor: { try Self.setBare(count, subscribers) }
      )
    }
  }

  private static func setStore(_ count: Int, _ subscribers: Int) throws -> Double {
    // A store that was never read, so that Observation has nothing to do.
    let store = QueryStore.detached(query: NumberQuery(number: 0), initialValue: nil)
    let tallies = (0..<subscribers).map { _ in Tally() }
    let subscriptions = tallies.map { tally in
      store.subscribe(
        with: QueryEventHandler(onStateChanged: { state, _ in tally.add(state.currentValue) })
      )
    }
    let watch = Stopwatch()
    for number in 0..<count { store.currentValue = number }
    let time = watch.nanoseconds(per: count)
    for subscription in subscriptions { subscription.cancel() }
    try expect(store.currentValue, count - 1, "the value of the store")
    try expect(store.valueUpdateCount, count, "the updates of the store")
    try Self.check(tallies, count)
    return time
  }

  private static func setBare(_ count: Int, _ subscribers: Int) throws -> Double {
    let tallies = (0..<subscribers).map { _ in Tally() }
    let bare = GuardedValue(observers: tallies.map { tally in { tally.add($0) } })
    let watch = Stopwatch()
    for number in 0..<count { bare.set(number) }
    let time = watch.nanoseconds(per: count)
    try expect(bare.contents.value, count - 1, "the value")
    try expect(bare.contents.updateCount, count, "the updates")
    try Self.check(tallies, count)
    return time
  }

  private static func check(_ tallies: [Tally], _ count: Int) throws {
    for tally in tallies {
      try expect(tally.sum, count * (count - 1) / 2, "the sum of what a subscriber saw")
    }
  }
}

/// What a subscriber saw.
// @unchecked: all calls come from the one thread that sets the value.
private final class Tally: @unchecked Sendable {
  private(set) var sum = 0

  func add(_ value: Int?) { self.sum &+= value ?? 0 }
}
