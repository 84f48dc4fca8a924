/// The mutations that a client knows by its ``QueryClient/register(_:)``.
final class MutationRegistrations: Sendable {
  // A dictionary behind a lock by itself costs a launch 50 µs, since its type is made then.
  private struct Guarded {
    var runners = [MutationHandler.Key: any DurableRunner]()
  }

  private let guarded = Locked(Guarded())
  private let hub = RecipientList<any DurableRunner>()

  func add(_ runner: any DurableRunner) {
    let old = self.guarded.withLock { guarded in
      defer { guarded.runners[runner.handler.key] = runner }
      return guarded.runners[runner.handler.key]
    }
    withExtendedLifetime(old) {}
    self.hub.post([runner])
    self.hub.deliver()
  }

  var all: [any DurableRunner] { self.guarded.withLock { Array($0.runners.values) } }

  func subscribe(_ handler: @escaping @Sendable (any DurableRunner) -> Void) -> QuerySubscription {
    self.hub.subscribe(handler)
  }
}
