import Query

/// A list that any thread appends to, and that a test can wait for.
public final class Recorder<Element: Sendable>: Sendable {
  private typealias Observer = (
    isReady: @Sendable ([Element]) -> Bool, continuation: CheckedContinuation<[Element], Never>
  )

  /// Guarded by the mutex.
  private struct State {
    var elements = [Element]()
    var observers = [Observer]()
  }

  private let state = Locked(State())

  /// Creates an empty list.
  public init() {}

  /// What was appended so far.
  public var elements: [Element] { self.state.withLock { $0.elements } }

  /// How many elements were appended so far.
  public var count: Int { self.state.withLock { $0.elements.count } }

  /// Appends an element.
  public func append(_ element: Element) {
    let (ready, elements) = self.state.withLock { state in
      state.elements.append(element)
      let elements = state.elements
      let ready = state.observers.filter { $0.isReady(elements) }
      state.observers.removeAll { $0.isReady(elements) }
      return (ready, elements)
    }
    for observer in ready { observer.continuation.resume(returning: elements) }
  }

  /// Removes all elements and returns them.
  @discardableResult
  public func removeAll() -> [Element] {
    self.state.withLock { state in
      defer { state.elements = [] }
      return state.elements
    }
  }

  /// Returns the elements as soon as a predicate holds for them.
  ///
  /// - Parameter isReady: Whether the test has what it waits for. It runs under a lock.
  @discardableResult
  public func wait(
    until isReady: @escaping @Sendable ([Element]) -> Bool
  ) async -> [Element] {
    await withCheckedContinuation { continuation in
      let known = self.state.withLock { state -> [Element]? in
        if isReady(state.elements) { return state.elements }
        state.observers.append((isReady, continuation))
        return nil
      }
      if let known { continuation.resume(returning: known) }
    }
  }

  /// Returns the elements as soon as there are so many.
  @discardableResult
  public func wait(forCount count: Int) async -> [Element] {
    await self.wait { $0.count >= count }
  }
}

/// A number that any thread counts up.
public final class Counter: Sendable {
  private let count = Locked(0)

  /// Creates a counter at 0.
  public init() {}

  /// How often ``increment()`` was called.
  public var value: Int { self.count.withLock { $0 } }

  /// Counts one up.
  ///
  /// - Returns: The new count.
  @discardableResult
  public func increment() -> Int {
    self.count.withLock { count in
      count += 1
      return count
    }
  }
}
