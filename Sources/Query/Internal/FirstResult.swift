/// The first of several results that arrive for one waiter.
package final class FirstResult<Value: Sendable>: Sendable {
  private struct Guarded {
    var waiter: CheckedContinuation<Value, Never>?
    var value: Value?
  }

  private let guarded = Locked(Guarded())

  package init() {}

  /// Sets the result, unless there is one.
  ///
  /// - Returns: Whether this is the result.
  @discardableResult
  package func set(_ value: Value) -> Bool {
    let (isFirst, waiter) = self.guarded.withLock { result in
      guard result.value == nil else { return (false, nil as CheckedContinuation<Value, Never>?) }
      result.value = value
      defer { result.waiter = nil }
      return (true, result.waiter)
    }
    waiter?.resume(returning: value)
    return isFirst
  }

  /// Waits for the result. Called once.
  package func value() async -> Value {
    await withCheckedContinuation { continuation in
      let known = self.guarded.withLock { result in
        if result.value == nil { result.waiter = continuation }
        return result.value
      }
      if let known { continuation.resume(returning: known) }
    }
  }
}
