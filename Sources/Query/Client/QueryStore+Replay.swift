extension QueryStore {
  /// Calls an action when the durable mutations that will change this query are sent, or five seconds
  /// have passed; at once if there are none, or no replayer sends them.
  func afterReplay(_ action: @escaping @Sendable () -> Void) {
    let pending = self.context.queryClient?.replayCoordinator.touching(self.path) ?? []
    if pending.isEmpty { return action() }
    Task {
      await withTaskGroup(of: Void.self) { group in
        for mutations in pending {
          group.addTask { await mutations.wait(atMost: ReplayCoordinator.patience) }
        }
      }
      action()
    }
  }
}
