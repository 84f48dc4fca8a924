import Foundation
import Query
public import Testing

/// Runs a closure on several threads at once, and returns when all have ended.
///
/// If they have not after two minutes, which is enough for any machine, they hang: that is an issue
/// of the test, and the threads are left behind so that the other tests go on.
///
/// - Parameters:
///   - count: How many threads.
///   - stackSize: How many bytes the stack of each has.
///   - sourceLocation: The location to record the issue at.
///   - body: What each thread runs, with its number from 0 on.
public func runOnThreads(
  _ count: Int,
  stackSize: Int = 8 << 20,
  sourceLocation: SourceLocation = #_sourceLocation,
  _ body: @escaping @Sendable (Int) -> Void
) async {
  let race = Race(count: count)
  let isDone = await withCheckedContinuation { continuation in
    race.begin(continuation)
    for index in 0..<count {
      let thread = Thread {
        body(index)
        race.threadEnded()
      }
      // The tests' handlers call one another; a main thread's stack, the default, is what users have.
      thread.stackSize = stackSize
      thread.start()
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + 900) { race.end(isDone: false) }
  }
  if !isDone { Issue.record("the threads hang", sourceLocation: sourceLocation) }
}

/// What comes first: the end of all threads, or of the watchdog's patience.
private final class Race: Sendable {
  private let state: Locked<(remaining: Int, continuation: CheckedContinuation<Bool, Never>?)>

  init(count: Int) { self.state = Locked((count, nil)) }

  func begin(_ continuation: CheckedContinuation<Bool, Never>) {
    self.state.withLock { $0.continuation = continuation }
  }

  func threadEnded() {
    let isLast = self.state.withLock { state in
      state.remaining -= 1
      return state.remaining == 0
    }
    if isLast { self.end(isDone: true) }
  }

  func end(isDone: Bool) {
    let continuation = self.state.withLock { state in
      defer { state.continuation = nil }
      return state.continuation
    }
    continuation?.resume(returning: isDone)
  }
}
