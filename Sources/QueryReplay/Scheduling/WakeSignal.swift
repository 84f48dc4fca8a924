import Query

/// What a run waits at until there may be something to do. Signals that come while it does something
/// are one.
final class WakeSignal: Sendable {
  private struct Guarded {
    var isDue = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let guarded = Locked(Guarded())

  /// Ends the wait, or else the next one at once.
  func wake() {
    let waiter = self.guarded.withLock { signal in
      let waiter = signal.waiter
      signal.waiter = nil
      signal.isDue = waiter == nil
      return waiter
    }
    waiter?.resume()
  }

  /// Waits for a signal, for the time, or until the task is cancelled, whichever is first.
  ///
  /// - Parameters:
  ///   - time: The time by the clock.
  ///   - clock: The clock.
  func wait(until time: Duration, by clock: ReplayClock) async {
    let timer = Task {
      // One that was cancelled wakes nobody.
      guard (try? await clock.sleep(time)) != nil else { return }
      self.wake()
    }
    defer { timer.cancel() }
    await withTaskCancellationHandler {
      await self.next()
    } onCancel: {
      self.wake()
    }
  }

  private func next() async {
    await withCheckedContinuation { continuation in
      let isDue = self.guarded.withLock { signal in
        guard !signal.isDue else {
          signal.isDue = false
          return true
        }
        signal.waiter = continuation
        return false
      }
      if isDue { continuation.resume() }
    }
  }
}
