import Foundation
import Query

/// A value that becomes known once.
final class Once<Value: Sendable>: Sendable {
  /// Guarded by the lock.
  private struct State {
    var value: Value?
    var waiters = [@Sendable (Value) -> Void]()
  }

  private let state = Locked(State())

  /// Makes it known.
  func set(_ value: Value) {
    let waiters = self.state.withLock { state in
      state.value = value
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter(value) }
  }

  /// The value, if it is already known.
  var current: Value? { self.state.withLock { $0.value } }

  /// Calls a closure as soon as it is known, which may be now.
  func whenSet(_ body: @escaping @Sendable (Value) -> Void) {
    let known = self.state.withLock { state in
      if state.value == nil { state.waiters.append(body) }
      return state.value
    }
    if let known { body(known) }
  }

  /// Waits for it.
  func value() async -> Value {
    await withCheckedContinuation { continuation in
      self.whenSet { continuation.resume(returning: $0) }
    }
  }

  /// Waits for it on this thread.
  func wait() -> Value {
    let semaphore = DispatchSemaphore(value: 0)
    self.whenSet { _ in semaphore.signal() }
    while true {
      semaphore.wait()
      if let value = self.state.withLock({ $0.value }) { return value }
    }
  }
}
