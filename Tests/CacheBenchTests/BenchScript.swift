import Foundation
import TestSupport
import Testing

/// Runs the scripts of `Tools` that read what `cache-bench --json` writes.
enum BenchScript {
  static var isThere: Bool {
    ChildProcess.system("bash") != nil && ChildProcess.system("jq") != nil
  }

  /// - Parameters:
  ///   - name: The file in `Tools`.
  ///   - arguments: Its arguments.
  /// - Returns: How it ended, and what it printed: its output, then its errors.
  static func run(
    _ name: String, _ arguments: [String]
  ) async throws -> (end: ChildProcess.End, lines: [String]) {
    var root = URL(filePath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let child = try ChildProcess(
      try #require(ChildProcess.system("bash")),
      [root.appending(path: "Tools/\(name)").path] + arguments, errors: .pipe)
    var lines = [String]()
    for await line in child.lines { lines.append(line) }
    for await line in child.errorLines { lines.append(line) }
    return (await child.end(), lines)
  }
}
