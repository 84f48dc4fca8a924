/// A task waits at it until there may be something to do. Signals that come while it does something
/// are one. It is one task's: if another one begins to wait, the wait of the first one ends, as by a signal.
package final class AsyncSignal: Sendable {
  private struct Guarded {
    var isDue = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let guarded = Locked(Guarded())

  /// Creates a signal that was not given.
  package init() {}

  /// Ends the wait, or else the next one at once.
  package func wake() {
    let waiter = self.guarded.withLock { signal in
      let waiter = signal.waiter
      signal.waiter = nil
      signal.isDue = waiter == nil
      return waiter
    }
    waiter?.resume()
  }

  /// Waits for a signal, or until the task is cancelled.
  package func wait() async {
    await withTaskCancellationHandler {
      await self.next()
    } onCancel: {
      self.wake()
    }
  }

  private func next() async {
    await withCheckedContinuation { continuation in
      let ended = self.guarded.withLock { signal -> CheckedContinuation<Void, Never>? in
        guard !signal.isDue else {
          signal.isDue = false
          return continuation
        }
        defer { signal.waiter = continuation }
        return signal.waiter
      }
      ended?.resume()
    }
  }
}
