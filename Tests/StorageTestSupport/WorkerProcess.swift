package import TestSupport

/// A `storage-worker` that a test has started. It is killed with the last reference to it.
package final class WorkerProcess: Sendable {
  /// The process, for signals.
  package let child: ChildProcess

  package init(_ arguments: String...) throws {
    self.child = try ChildProcess(ChildProcess.product("storage-worker"), arguments)
  }

  /// The lines that it writes, to its end.
  package var lines: AsyncStream<String> { self.child.lines }

  /// Kills it, so that it has no time for anything.
  package func killNow() { self.child.kill() }

  /// Reads what it wrote, and waits for its end.
  ///
  /// - Returns: Its exit code; nil if a signal ended it.
  package func finish() async -> (code: Int32?, lines: [String]) {
    var lines = [String]()
    for await line in self.lines { lines.append(line) }
    return (await self.waitForEnd(), lines)
  }

  /// Waits for its end.
  ///
  /// - Returns: Its exit code; nil if a signal ended it.
  package func waitForEnd() async -> Int32? {
    if case .code(let code) = await self.child.end() { code } else { nil }
  }
}
