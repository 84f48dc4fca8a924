extension QueryStore {
  /// Calls an action when the durable mutations that will change this query are sent, or five seconds
  /// of the context's clock have passed; at once if there are none, or no replayer sends them.
  func afterReplay(_ action: @escaping @Sendable () -> Void) {
    let pending = self.context.queryClient?.replayCoordinator.touching(self.path) ?? []
    if pending.isEmpty { return action() }
    let sleep = self.context.sleep
    Task {
      await withTaskGroup(of: Void.self) { group in
        for mutations in pending {
          group.addTask { await mutations.wait(atMost: ReplayCoordinator.patience, by: sleep) }
        }
      }
      action()
    }
  }
}
