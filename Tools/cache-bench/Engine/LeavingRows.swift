import Query

/// Many subscriptions, stores or tasks that go at once, as when a screen with many rows is closed.
enum LeavingRows {
  static let all = [Self.subscriptions, Self.stores]

  private static let count = 8000

  private static let subscriptions = Row(
    name: "cancel-subscriptions-8000",
    title: "cancel 8000 subscriptions of one store, each",
    goal: .atMost(1000),
    floor: "a closure called and taken out of a dictionary under a lock",
    unit: .nanoseconds
  ) {
    Trial(
      figure: { try Self.cancelSubscriptions() },
      floor: { try Self.emptyDictionary() }
    )
  }

  private static func cancelSubscriptions() throws -> Double {
    let store = QueryStore.detached(query: NumberQuery(number: 0), initialValue: nil)
    let subscriptions = (0..<Self.count).map { _ in
      store.subscribe(with: QueryEventHandler(onStateChanged: { _, _ in }))
    }
    try expect(store.subscriberCount, Self.count, "the subscribers")
    let watch = Stopwatch()
    for subscription in subscriptions { subscription.cancel() }
    let time = watch.nanoseconds(per: Self.count)
    try expect(store.subscriberCount, 0, "the subscribers that are left")
    return time
  }

  private static func emptyDictionary() throws -> Double {
    let closures = Locked([Int: @Sendable () -> Int]())
    for number in 0..<Self.count { closures.withLock { $0[number] = { number } } }
    var sum = 0
    let watch = Stopwatch()
    for number in 0..<Self.count {
      sum += closures.withLock { $0.removeValue(forKey: number) }?() ?? 0
    }
    let time = watch.nanoseconds(per: Self.count)
    try expect(sum, Self.count * (Self.count - 1) / 2, "the sum of the numbers")
    return time
  }

  private static let stores = Row(
    name: "drop-stores-8000",
    title: "drop 8000 stores of a client with observers, each",
    goal: .atMost(1000),
    floor: "8000 objects with a lock freed with their dictionary",
    unit: .nanoseconds
  ) {
    Trial(figure: { try Self.dropStores() }, floor: { try Self.dropObjects() })
  }

  private static func dropStores() throws -> Double {
    let observer = MockNetworkObserver()
    let client = QueryClient(
      storeCache: QueryClient.DefaultStoreCache(memoryPressureSource: nil),
      storeCreator: .default(networkObserver: observer, activityObserver: nil))
    for number in 0..<Self.count { _ = client.store(for: NumberQuery(number: number)) }
    try expect(observer.subscriberCount, Self.count, "the subscribers of the network's observer")
    let watch = Stopwatch()
    client.clearStores()
    let time = watch.nanoseconds(per: Self.count)
    try expect(observer.subscriberCount, 0, "the subscribers that are left")
    return time
  }

  private static func dropObjects() throws -> Double {
    var objects = [AnyHashable: GuardedValue]()
    for number in 0..<Self.count { objects[NumberQuery(number: number)] = GuardedValue() }
    weak let last = objects[NumberQuery(number: Self.count - 1)]
    let watch = Stopwatch()
    objects = [:]
    let time = watch.nanoseconds(per: Self.count)
    try expect(last == nil, true, "whether the objects are freed")
    return time
  }
}
