import Foundation
import TestSupport

/// A `network-watcher` inside a network namespace. It is killed with the last reference to it, and
/// after half an hour, which no machine is too slow for: a test that waits then sees the end.
final class WatcherProcess: Sendable {
  private let child: ChildProcess

  convenience init(in namespace: NetworkNamespace) throws {
    try self.init(namespace.start(ChildProcess.product("network-watcher"), input: .pipe))
  }

  /// One outside of any network namespace, with these variables.
  convenience init(environment: [String: String]) throws {
    try self.init(
      ChildProcess(
        ChildProcess.product("network-watcher"), [], environment: environment, input: .pipe))
  }

  private init(_ child: ChildProcess) throws {
    self.child = child
    DispatchQueue.global().asyncAfter(deadline: .now() + 1_800) { [weak child] in child?.kill() }
  }

  /// Tells it what to do.
  func send(_ line: String) throws { try self.child.write("\(line)\n") }

  /// Waits for the next line that it writes; nil at its end.
  func line() async -> String? { await self.child.line() }

  /// Sends a line, and waits for the answer.
  func ask(_ line: String) async throws -> String? {
    try self.send(line)
    return await self.line()
  }
}
