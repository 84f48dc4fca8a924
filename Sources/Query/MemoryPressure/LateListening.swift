import Dispatch

/// Listens to memory pressure for a cache, but not before that can be of use.
///
/// The kernel takes 16 ms to take a trigger back, which a program waits for when it ends. A short
/// one, that shows a value or sends what waits, should not pay that for a cache which it never fills.
///
/// Locking: `phase` is read and written under its lock; nothing else is called under it.
final class LateListening: Sendable {
  /// What decides whether listening is of use; a test has its own.
  struct Surroundings: Sendable {
    /// For how long the program has run.
    var age: @Sendable () -> Duration = {
      [start = Self.programStart] in ContinuousClock.now - start
    }
    /// Runs a closure that waits, on a thread of its own.
    var spawn: @Sendable (@escaping @Sendable () -> Void) -> Void = { body in
      startThread("memory pressure", body)
    }

    // That of the first cache, which is early enough.
    private static let programStart = ContinuousClock.now
  }

  private enum Phase {
    /// There was no store yet.
    case empty
    /// A thread looks again after some time.
    case waiting
    case listening(QuerySubscription)
  }

  /// From how many stores on the program's age does not count.
  private static let manyStores = 1_000
  /// The age of a program that is no short command.
  private static let oldAge = Duration.seconds(60)

  private let phase = Locked(Phase.empty)
  private let wake = DispatchSemaphore(value: 0)
  private let surroundings: Surroundings
  private let hasDroppable: @Sendable () -> Bool
  private let subscribe: @Sendable () -> QuerySubscription

  /// - Parameters:
  ///   - surroundings: What decides besides the stores.
  ///   - hasDroppable: Whether there is a store that pressure would drop.
  ///   - subscribe: Begins to listen.
  init(
    _ surroundings: Surroundings = Surroundings(),
    hasDroppable: @escaping @Sendable () -> Bool,
    subscribe: @escaping @Sendable () -> QuerySubscription
  ) {
    self.surroundings = surroundings
    self.hasDroppable = hasDroppable
    self.subscribe = subscribe
  }

  // The waiting thread sees that this is gone, and ends.
  deinit { self.wake.signal() }

  /// Whether it listens.
  var isListening: Bool {
    self.phase.withLock { if case .listening = $0 { true } else { false } }
  }

  /// Records that there are so many stores now.
  func noteStores(_ count: Int) {
    let (isFirst, isListening) = self.phase.withLock { phase in
      switch phase {
      case .empty:
        phase = .waiting
        return (true, false)
      case .waiting: return (false, false)
      case .listening: return (false, true)
      }
    }
    if isListening { return }
    if count > Self.manyStores {
      self.listen()
    } else if isFirst {
      self.surroundings.spawn { [weak self, wake] in
        while let wait = self?.timeToWait() { _ = wake.wait(timeout: .now() + wait.seconds) }
      }
    }
  }

  /// Begins to listen if that is of use.
  ///
  /// - Returns: When to look again; nil if it listens.
  func timeToWait() -> Duration? {
    if self.isListening { return nil }
    let missing = Self.oldAge - self.surroundings.age()
    if missing > .zero { return missing }
    guard self.hasDroppable() else { return Self.oldAge }
    self.listen()
    return nil
  }

  private func listen() {
    let subscription = self.subscribe()
    let surplus = self.phase.withLock { phase -> QuerySubscription? in
      if case .listening = phase { return subscription }
      phase = .listening(subscription)
      return nil
    }
    surplus?.cancel()
    self.wake.signal()
  }
}
