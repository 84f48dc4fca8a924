/// The mutations that a client knows by its ``QueryClient/register(_:)``.
final class MutationRegistrations: Sendable {
  private let runners = Locked([MutationHandler.Key: any DurableRunner]())
  private let hub = RecipientList<any DurableRunner>()

  func add(_ runner: any DurableRunner) {
    let old = self.runners.withLock { runners in
      defer { runners[runner.handler.key] = runner }
      return runners[runner.handler.key]
    }
    withExtendedLifetime(old) {}
    self.hub.post([runner])
    self.hub.deliver()
  }

  var all: [any DurableRunner] { self.runners.withLock { Array($0.values) } }

  func subscribe(_ handler: @escaping @Sendable (any DurableRunner) -> Void) -> QuerySubscription {
    self.hub.subscribe(handler)
  }
}
