import Query

extension AsyncSignal {
  /// Waits for a signal, for the time, or until the task is cancelled, whichever is first.
  ///
  /// - Parameters:
  ///   - time: The time by the clock.
  ///   - clock: The clock.
  func wait(until time: Duration, by clock: ReplayClock) async {
    let timer = Task {
      // A cancelled wait wakes no waiter.
      guard (try? await clock.sleep(time)) != nil else { return }
      self.wake()
    }
    defer { timer.cancel() }
    await self.wait()
  }
}
