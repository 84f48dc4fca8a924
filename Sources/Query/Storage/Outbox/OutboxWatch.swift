import FoundationEssentials

/// Waits for changes of an outbox; no change since its creation is missed.
final class OutboxWatch: Sendable {
  private let signal: AsyncSignal
  private let subscription: QuerySubscription

  /// - Parameters:
  ///   - outbox: The outbox.
  ///   - id: Only changes that may decide what became of this mutation count; nil: all do.
  init(_ outbox: any MutationOutbox, of id: UUID? = nil) {
    let signal = AsyncSignal()
    self.signal = signal
    self.subscription = outbox.subscribe { event in
      if id.map(event.mayConcern) ?? true { signal.wake() }
    }
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

extension OutboxWatch {
  /// Returns at the next change, but after this time at the latest: the end of a process that was killed
  /// is no change, and nobody tells of it.
  ///
  /// - Returns: Whether there was none.
  /// - Throws: `CancellationError`.
  func nextChange(atMost time: Duration) async throws -> Bool {
    let hasTimedOut = Locked(false)
    let timer = Task {
      guard (try? await Task.sleep(for: time)) != nil else { return }
      hasTimedOut.withLock { $0 = true }
      self.signal.wake()
    }
    defer { timer.cancel() }
    try await self.nextChange()
    return hasTimedOut.withLock { $0 }
  }
}

extension OutboxEvent {
  /// Whether it may have changed what became of a mutation.
  fileprivate func mayConcern(_ id: UUID) -> Bool {
    switch self {
    case .changedByAnotherProcess, .erased: true
    case .released: false
    case .enqueued(let other), .claimed(let other), .reaped(let other), .pending(let other),
      .succeeded(let other), .dead(let other, _), .cancelled(let other), .superseded(let other, _),
      .discarded(let other):
      other == id
    }
  }
}
