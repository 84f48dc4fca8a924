/// The first of several results that arrive for one waiter.
// @unchecked: the result is written by the call that finds none, before it says so, and read after that.
package final class FirstResult<Value: Sendable>: @unchecked Sendable {
  private let guarded = Locked(FirstResultState())
  private var result: Value?

  package init() {}

  /// Sets the result, unless there is one.
  ///
  /// - Returns: Whether this is the result.
  @discardableResult
  package func set(_ value: Value) -> Bool {
    if self.guarded.withLock({ $0.claim() }) { return false }
    self.result = value
    self.guarded.withLock { $0.complete() }?.resume()
    return true
  }

  /// Waits for the result. Called once.
  package func value() async -> Value {
    if !self.guarded.withLock({ $0.isComplete }) {
      await withCheckedContinuation { continuation in
        let isComplete = self.guarded.withLock { $0.wait(continuation) }
        if isComplete { continuation.resume() }
      }
    }
    return self.result!
  }
}

// Outside the class, since a generic type would be looked up in the runtime at each use.

private struct FirstResultState {
  private var isClaimed = false
  private(set) var isComplete = false
  private var waiter: CheckedContinuation<Void, Never>?

  /// Lets one caller write the result.
  ///
  /// - Returns: Whether another one has been here before.
  mutating func claim() -> Bool {
    defer { self.isClaimed = true }
    return self.isClaimed
  }

  /// Says that the result is written.
  ///
  /// - Returns: The one that waits for it.
  mutating func complete() -> CheckedContinuation<Void, Never>? {
    self.isComplete = true
    defer { self.waiter = nil }
    return self.waiter
  }

  /// - Returns: Whether there is nothing to wait for.
  mutating func wait(_ waiter: CheckedContinuation<Void, Never>) -> Bool {
    if !self.isComplete { self.waiter = waiter }
    return self.isComplete
  }
}
