import Query

/// A point in a scripted task at which it stops until the test lets it through.
///
/// ```swift
/// let gate = Gate()
/// let fetch = Task { try await store.fetch() }  // its request calls `gate.pass()`
/// await gate.arrival()  // the request is at the gate
/// gate.open()
/// ```
/// Once it is open, a gate lets everybody through; ``letOneThrough()`` opens it for one.
public final class Gate: Sendable {
  /// Guarded by the mutex.
  private struct State {
    var isOpen = false
    /// How many may pass although the gate is closed.
    var permits = 0
    var arrivals = 0
    var lastWaiter = 0
    var waiters = [(id: Int, continuation: CheckedContinuation<Bool, Never>)]()
    var observers = [(count: Int, continuation: CheckedContinuation<Void, Never>)]()

    mutating func takeReadyObservers() -> [CheckedContinuation<Void, Never>] {
      let ready = self.observers.filter { $0.count <= self.arrivals }
      self.observers.removeAll { $0.count <= self.arrivals }
      return ready.map(\.continuation)
    }
  }

  private let state = Locked(State())

  /// Creates a closed gate.
  public init() {}

  /// How many have come to the gate so far, whether they passed or not.
  public var arrivals: Int { self.state.withLock { $0.arrivals } }
}

// MARK: - Passing

extension Gate {
  /// Waits until the gate lets this task through.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before it passed.
  public func pass() async throws {
    let waiter = self.state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    let hasPassed = await withTaskCancellationHandler {
      await self.wait(as: waiter) { Task.isCancelled }
    } onCancel: {
      self.giveUp(waiter)
    }
    if !hasPassed { throw CancellationError() }
  }

  /// Waits until the gate lets this task through, even if it is cancelled.
  public func passIgnoringCancellation() async {
    let waiter = self.state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    _ = await self.wait(as: waiter) { false }
  }

  private func wait(as waiter: Int, isCancelled: () -> Bool) async -> Bool {
    await withCheckedContinuation { continuation in
      let (known, observers) = self.state.withLock { state in
        state.arrivals += 1
        let observers = state.takeReadyObservers()
        if isCancelled() { return (Bool?.some(false), observers) }
        if state.isOpen || state.permits > 0 {
          state.permits = max(state.permits - 1, 0)
          return (Bool?.some(true), observers)
        }
        state.waiters.append((waiter, continuation))
        return (nil, observers)
      }
      for observer in observers { observer.resume() }
      if let known { continuation.resume(returning: known) }
    }
  }

  private func giveUp(_ waiter: Int) {
    let continuation = self.state.withLock { state in
      state.waiters.firstIndex { $0.id == waiter }
        .map { state.waiters.remove(at: $0).continuation }
    }
    continuation?.resume(returning: false)
  }
}

// MARK: - Opening

extension Gate {
  /// Lets everybody through, now and later.
  public func open() {
    let waiters = self.state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume(returning: true) }
  }

  /// Stops all tasks that come from now on.
  public func close() {
    self.state.withLock { state in
      state.isOpen = false
      state.permits = 0
    }
  }

  /// Lets the task that has waited longest through, or the next one that comes if none waits.
  public func letOneThrough() {
    let waiter = self.state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard state.waiters.isEmpty else { return state.waiters.removeFirst().continuation }
      state.permits += 1
      return nil
    }
    waiter?.resume(returning: true)
  }
}

// MARK: - Watching

extension Gate {
  /// Returns when so many have come to the gate, counted from its creation.
  public func arrival(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let hasCome = self.state.withLock { state in
        if state.arrivals >= count { return true }
        state.observers.append((count, continuation))
        return false
      }
      if hasCome { continuation.resume() }
    }
  }
}
