import Synchronization

/// Something that happens once, on any thread.
final class Mark: Sendable {
  private struct State {
    var isSet = false
    /// The one task that waits for it.
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  var isSet: Bool { self.state.withLock { $0.isSet } }

  func set() {
    let waiter = self.state.withLock { state in
      state.isSet = true
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Waits until it is set, whether the task is cancelled or not. Called once.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isSet = self.state.withLock { state in
        if !state.isSet { state.waiter = continuation }
        return state.isSet
      }
      if isSet { continuation.resume() }
    }
  }
}
