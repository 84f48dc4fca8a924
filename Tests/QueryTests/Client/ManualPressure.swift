import Query

/// A memory pressure that the test sends.
final class ManualPressure: MemoryPressureSource, Sendable {
  private let handlers = Locked((last: 0, all: [Int: @Sendable (MemoryPressure) -> Void]()))

  var handlerCount: Int { self.handlers.withLock { $0.all.count } }

  func send(_ pressure: MemoryPressure) {
    let handlers = self.handlers.withLock { Array($0.all.values) }
    for handler in handlers { handler(pressure) }
  }

  func subscribe(
    with handler: @escaping @Sendable (MemoryPressure) -> Void
  ) -> QuerySubscription {
    let id = self.handlers.withLock { handlers in
      handlers.last += 1
      handlers.all[handlers.last] = handler
      return handlers.last
    }
    return QuerySubscription { _ = self.handlers.withLock { $0.all.removeValue(forKey: id) } }
  }
}
