import Foundation
import Query
import Testing

/// A `storage-worker` that a test has started. It is killed with the last reference to it.
final class WorkerProcess: Sendable {
  private let process: Locked<Process>
  private let output: FileHandle

  /// The process, for signals.
  let identifier: pid_t

  init(_ arguments: String...) throws {
    let process = Process()
    // Beside the tests.
    let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent()
    process.executableURL = try Self.executable(beside: folder)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    self.identifier = process.processIdentifier
    self.output = pipe.fileHandleForReading
    self.process = Locked(process)
  }

  deinit { kill(self.identifier, SIGKILL) }

  private static func executable(beside folder: URL) throws -> URL {
    let candidates = [folder] + Bundle.allBundles.map { $0.bundleURL.deletingLastPathComponent() }
    let found = candidates.map { $0.appending(path: "storage-worker") }.first {
      FileManager.default.isExecutableFile(atPath: $0.path)
    }
    return try #require(found, "storage-worker is built with the tests")
  }

  /// The lines that it writes, to its end.
  var lines: AsyncLines { AsyncLines(bytes: self.output) }

  /// Kills it, so that it has no time for anything.
  func killNow() { kill(self.identifier, SIGKILL) }

  /// Reads what it wrote, and waits for its end.
  ///
  /// - Returns: Its exit code; nil where a signal ended it.
  func finish() async throws -> (code: Int32?, lines: [String]) {
    var lines = [String]()
    for try await line in self.lines { lines.append(line) }
    return (self.waitForEnd(), lines)
  }

  /// Waits for its end.
  func waitForEnd() -> Int32? {
    let process = self.process.withLock { $0 }
    process.waitUntilExit()
    return process.terminationReason == .exit ? process.terminationStatus : nil
  }

  /// Lines of a pipe, as they come.
  struct AsyncLines: AsyncSequence {
    let bytes: FileHandle

    struct AsyncIterator: AsyncIteratorProtocol {
      let bytes: FileHandle
      var rest = Data()

      mutating func next() async throws -> String? {
        while true {
          if let end = self.rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: self.rest[..<end], as: UTF8.self)
            self.rest = Data(self.rest[self.rest.index(after: end)...])
            return line
          }
          let bytes = self.bytes
          let data = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: bytes.availableData) }
          }
          if data.isEmpty { return nil }
          self.rest.append(data)
        }
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: self.bytes) }
  }
}
