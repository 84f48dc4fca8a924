/// A value that changes, and its observers.
///
/// No observer is called under the lock. Each gets the values one at a time and in the order in
/// which they were sent, so the last value that it gets is the list's. A value that is sent while
/// another thread calls the observer, or from inside it, is delivered after that call.
package final class ObserverList<Value: Sendable>: Sendable {
  package typealias Observer = @Sendable (Value) -> Void

  // Values are posted under its lock, so that all observers get them in one order.
  private let current: Locked<Value>
  private let recipients = RecipientList<Value>()

  /// Creates a list without observers.
  package init(_ value: Value) { self.current = Locked(value) }

  /// The value that was sent last.
  package var value: Value { self.current.withLock { $0 } }

  /// How many observers there are.
  package var count: Int { self.recipients.count }

  /// Changes the value and calls all observers.
  ///
  /// - Parameter isChange: Whether to send the new value, given the old one.
  package func send(_ value: Value, where isChange: (Value, Value) -> Bool = { _, _ in true }) {
    let isTold = self.current.withLock { current in
      guard isChange(current, value) else { return false }
      current = value
      self.recipients.post([value])
      return true
    }
    if isTold { self.recipients.deliver() }
  }

  /// Changes a part of the value, and calls all observers if it is another one then.
  ///
  /// - Parameter edit: Changes the value. It calls no user code.
  /// - Returns: Whether it is another one.
  @discardableResult
  package func edit(_ edit: (inout Value) -> Void) -> Bool where Value: Equatable {
    let isTold = self.current.withLock { current in
      var new = current
      edit(&new)
      guard new != current else { return false }
      current = new
      self.recipients.post([new])
      return true
    }
    if isTold { self.recipients.deliver() }
    return isTold
  }

  /// Calls an observer with each value that follows.
  ///
  /// - Parameter emittingFirst: Whether it gets the value of now first, before this returns.
  package func subscribe(
    emittingFirst: Bool,
    _ observer: @escaping Observer
  ) -> QuerySubscription {
    let addition = self.current.withLock { value in
      self.recipients.add(observer, startingWith: emittingFirst ? [value] : [])
    }
    addition.deliver()
    return self.recipients.subscription(of: addition)
  }
}
