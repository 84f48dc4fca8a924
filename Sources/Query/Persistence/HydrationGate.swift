/// Tells when a store that is hydrated off its creator's thread has its value.
final class HydrationGate: Sendable {
  /// The waiting actions; nil once the value is there.
  private let waiters = Locked<[@Sendable () -> Void]?>([])

  /// Runs an action when the value is there.
  ///
  /// - Returns: Whether that is still to come; otherwise the action was not taken.
  func wait(_ action: @escaping @Sendable () -> Void) -> Bool {
    self.waiters.withLock { waiters in
      guard waiters != nil else { return false }
      waiters?.append(action)
      return true
    }
  }

  /// Lets all go on.
  func open() {
    let waiters = self.waiters.withLock { waiters in
      defer { waiters = nil }
      return waiters
    }
    for action in waiters ?? [] { action() }
  }
}
