import Foundation
import Query

/// What is run at a normal exit of the process: a return from `main`, or `exit()`. Not at `_exit()`,
/// at a signal or at a crash.
///
/// ```swift
/// let token = ExitFlush.register { [weak writer] in writer?.flushAtExit() }
/// ExitFlush.unregister(token)
/// ```
enum ExitFlush {
  /// What was registered.
  struct Token: Hashable, Sendable {
    fileprivate let number: Int
  }

  private struct Registry {
    var last = 0
    var isHooked = false
    var startedAt: SuspendingClock.Instant?
    /// In the order in which they came, with the process that they came from.
    var entries = [(token: Token, process: pid_t, body: @Sendable () -> Void)]()
  }

  // No closure is called under this lock.
  private static let registry = Locked(Registry())

  /// Adds a closure, which runs at most once, on the thread that exits, the newest first. Other
  /// threads go on running meanwhile.
  ///
  /// - Parameter body: What is run. It is kept until then, or until it is unregistered.
  /// - Returns: What unregisters it.
  static func register(_ body: @escaping @Sendable () -> Void) -> Token {
    self.registry.withLock { registry in
      if !registry.isHooked {
        registry.isHooked = atexit { ExitFlush.runAll() } == 0
      }
      registry.last += 1
      let token = Token(number: registry.last)
      registry.entries.append((token, getpid(), body))
      return token
    }
  }

  /// Removes a closure.
  ///
  /// - Returns: Whether it was there. Otherwise it was removed before, or runs already, or has run.
  @discardableResult
  static func unregister(_ token: Token) -> Bool {
    let entry = self.registry.withLock { registry in
      let index = registry.entries.firstIndex { $0.token == token }
      return index.map { registry.entries.remove(at: $0) }
    }
    return entry != nil
  }

  /// Since when the program ends; nil while it goes on.
  static var startedAt: SuspendingClock.Instant? { self.registry.withLock { $0.startedAt } }

  private static func runAll() {
    self.registry.withLock { $0.startedAt = .now }
    while let entry = self.registry.withLock({ $0.entries.popLast() }) {
      // A forked child has its parent's closures, but not the threads that they wait for.
      if entry.process == getpid() { entry.body() }
    }
  }
}
