import Foundation
import Query
import Testing

/// A `network-watcher` inside a network namespace. It is killed with the last reference to it, and
/// after five minutes, which no machine is too slow for: a test that waits then sees the end.
final class WatcherProcess: Sendable {
  private let process: Locked<Process>
  private let input: FileHandle
  private let lines: Locked<LineReader>

  init(in namespace: NetworkNamespace) throws {
    let process = Process()
    process.executableURL = URL(filePath: try #require(Command.path(of: "ip")))
    process.arguments = ["netns", "exec", namespace.name, try Self.executable().path]
    // The system's NetworkManager knows nothing of the namespace.
    process.environment = ProcessInfo.processInfo.environment
      .merging(["GIO_USE_NETWORK_MONITOR": "netlink"]) { $1 }
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    self.input = input.fileHandleForWriting
    self.lines = Locked(LineReader(bytes: output.fileHandleForReading))
    self.process = Locked(process)
    DispatchQueue.global().asyncAfter(deadline: .now() + 300) { [weak self] in self?.kill() }
  }

  deinit { self.kill() }

  private static func executable() throws -> URL {
    let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    let folders = [own] + Bundle.allBundles.map(\.bundleURL)
    let found = folders.map { $0.deletingLastPathComponent().appending(path: "network-watcher") }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    return try #require(found, "network-watcher is built with the tests")
  }

  /// Tells it what to do.
  func send(_ line: String) throws { try self.input.write(contentsOf: Data("\(line)\n".utf8)) }

  /// Waits for the next line that it writes; nil at its end.
  func line() async -> String? {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: self.lines.withLock { $0.next() })
      }
    }
  }

  /// Sends a line, and waits for the answer.
  func ask(_ line: String) async throws -> String? {
    try self.send(line)
    return await self.line()
  }

  private func kill() {
    self.process.withLock { process in
      // Asked first: the number of a process that has ended may be another's.
      if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
    }
  }
}

/// Lines of a pipe.
private struct LineReader {
  let bytes: FileHandle
  var rest = Data()

  init(bytes: FileHandle) { self.bytes = bytes }

  mutating func next() -> String? {
    while true {
      if let end = self.rest.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: self.rest[..<end], as: UTF8.self)
        self.rest = Data(self.rest[self.rest.index(after: end)...])
        return line
      }
      let data = self.bytes.availableData
      if data.isEmpty { return nil }
      self.rest.append(data)
    }
  }
}
