/// Waits for changes of an outbox; no change since its creation is missed.
final class OutboxWatch: Sendable {
  private let signal: AsyncSignal
  private let subscription: QuerySubscription

  init(_ outbox: any MutationOutbox) {
    let signal = AsyncSignal()
    self.signal = signal
    self.subscription = outbox.subscribe { _ in signal.wake() }
  }

  /// Returns at the next change, or at once if there was one since the last call.
  ///
  /// - Throws: `CancellationError`.
  func nextChange() async throws {
    try Task.checkCancellation()
    await self.signal.wait()
    try Task.checkCancellation()
  }
}
