import FoundationEssentials
import Glibc
import Query

/// The closures that run at a normal exit of the process: a return from `main`, or `exit()`. Not at
/// `_exit()`, a signal or a crash.
///
/// ```swift
/// let token = ExitFlush.register { [weak writer] in writer?.flushAtExit() }
/// ExitFlush.unregister(token)
/// ```
enum ExitFlush {
  /// Identifies a registered closure.
  struct Token: Hashable, Sendable {
    fileprivate let number: Int
  }

  private struct Registry {
    var last = 0
    var isHooked = false
    var startedAt: SuspendingClock.Instant?
    /// The thread that exits.
    var thread: pthread_t?
    /// In the order of registration, each with the process that registered it.
    var entries = [(token: Token, process: pid_t, body: @Sendable () -> Void)]()
  }

  // No closure is called under this lock.
  private static let registry = Locked(Registry())

  /// Adds a closure, which runs at most once, on the exiting thread, the newest first. Other
  /// threads keep running meanwhile.
  ///
  /// - Parameter body: The closure. It is kept until it runs or is unregistered.
  /// - Returns: The token that unregisters it.
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
  /// - Returns: Whether it was registered. If not, it was removed before, or is running, or has
  ///   run.
  @discardableResult
  static func unregister(_ token: Token) -> Bool {
    let entry = self.registry.withLock { registry in
      let index = registry.entries.firstIndex { $0.token == token }
      return index.map { registry.entries.remove(at: $0) }
    }
    return entry != nil
  }

  /// When the exit began; nil while the program goes on.
  static var startedAt: SuspendingClock.Instant? { self.registry.withLock { $0.startedAt } }

  /// Waits for the end of the process if that is exiting, and not for ever. A call that failed now, because
  /// what it needs was closed for the exit, would end the program by an error that has not happened.
  static func waitForEnd() {
    guard self.isOthers else { return }
    LockWait.sleep(for: Self.longestWait)
  }

  /// As ``waitForEnd()``, without a thread.
  static func untilEnd() async {
    guard self.isOthers else { return }
    // Without the cancellation of the caller, which changes nothing.
    await Task { try? await Task.sleep(for: Self.longestWait) }.value
  }

  /// A program may take its time, or never end.
  private static let longestWait = Duration.seconds(10)

  /// Whether another thread than this one exits.
  private static var isOthers: Bool {
    self.registry.withLock { $0.thread.map { pthread_equal($0, pthread_self()) == 0 } ?? false }
  }

  private static func runAll() {
    self.registry.withLock { registry in
      registry.startedAt = .now
      registry.thread = pthread_self()
    }
    while let entry = self.registry.withLock({ $0.entries.popLast() }) {
      // A forked child has its parent's closures, but not the threads that they wait for.
      if entry.process == getpid() { entry.body() }
    }
  }
}
