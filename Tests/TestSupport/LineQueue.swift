import Foundation
import Query

/// The lines of a pipe, read by a thread of its own to the end, whether somebody takes them or not.
final class LineQueue: Sendable {
  /// Guarded by the lock.
  private struct State {
    var lines = [String]()
    var isAtEnd = false
    var waiters = [CheckedContinuation<String?, Never>]()
  }

  private let state = Locked(State())
  private let end = Once<Bool>()

  /// - Parameter descriptor: What is read; nil: there are no lines.
  init(reading descriptor: Descriptor?) {
    guard let descriptor else {
      self.finish()
      return
    }
    Thread { self.read(descriptor) }.start()
  }

  /// Takes the next line, waits for it; nil at the end.
  func next() async -> String? {
    await withCheckedContinuation { continuation in
      let known = self.state.withLock { state -> String?? in
        if !state.lines.isEmpty { return .some(state.lines.removeFirst()) }
        if state.isAtEnd { return .some(nil) }
        state.waiters.append(continuation)
        return nil
      }
      if let known { continuation.resume(returning: known) }
    }
  }

  /// Takes all lines, after the last has come. It blocks this thread.
  func waitForAll() -> [String] {
    _ = self.end.wait()
    return self.state.withLock { state in
      defer { state.lines = [] }
      return state.lines
    }
  }

  private func read(_ descriptor: Descriptor) {
    var rest = [UInt8]()
    while true {
      let bytes = descriptor.read()
      if bytes.isEmpty { break }
      rest += bytes
      var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      rest = lines.popLast().map(Array.init) ?? []
      for line in lines { self.append(String(decoding: line, as: UTF8.self)) }
    }
    self.finish()
  }

  private func append(_ line: String) {
    let waiter = self.state.withLock { state -> CheckedContinuation<String?, Never>? in
      guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
      state.lines.append(line)
      return nil
    }
    waiter?.resume(returning: line)
  }

  private func finish() {
    let waiters = self.state.withLock { state in
      state.isAtEnd = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: nil) }
    self.end.set(true)
  }
}
