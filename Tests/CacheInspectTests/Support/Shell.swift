import Foundation
import TestSupport

/// Runs a line of a shell in which `$TOOL` is the built tool and `$STORE` the folder of a store.
enum Shell {
  static func run(
    _ line: String, _ store: SampleStore
  ) async throws -> (code: Int32?, text: String) {
    let child = try ChildProcess(
      "/bin/bash", ["-c", line],
      environment: [
        "TOOL": ChildProcess.product("cache-inspect"), "STORE": store.path, "TZ": "UTC",
        "HOME": "/nonexistent",
      ], output: .pipe, errors: .null)
    var lines = [String]()
    for await line in child.lines { lines.append(line) }
    if case .code(let code) = await child.end() { return (code, lines.joined(separator: "\n")) }
    return (nil, lines.joined(separator: "\n"))
  }
}
