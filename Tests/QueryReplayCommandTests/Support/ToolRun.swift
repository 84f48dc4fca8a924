import Foundation
import TestSupport

/// A run of `mutation-replay` to its end.
struct ToolRun {
  /// What it has printed.
  var lines: [String]
  /// What it has printed on the standard error.
  var errors: [String]
  /// How it ended.
  var end: ChildProcess.End

  /// No configuration is read unless a test sets one, not even the user's; and GIO reports a
  /// network, whatever the machine has.
  static let environment = [
    "GIO_USE_NETWORK_MONITOR": "base", "XDG_CONFIG_HOME": "/nonexistent", "TZ": "UTC",
  ]

  /// Starts it.
  static func start(
    _ words: [String], environment: [String: String] = [:]
  ) throws -> ChildProcess {
    try ChildProcess(
      ChildProcess.product("mutation-replay"), words,
      environment: Self.environment.merging(environment) { $1 }, errors: .pipe)
  }

  /// Runs it.
  ///
  /// - Parameters:
  ///   - words: What follows its name.
  ///   - environment: What is otherwise than usual.
  init(_ words: [String], environment: [String: String] = [:]) async throws {
    let child = try Self.start(words, environment: environment)
    (self.lines, self.errors) = ([], [])
    for await line in child.lines { self.lines.append(line) }
    for await line in child.errorLines { self.errors.append(line) }
    self.end = await child.end()
  }

  /// Runs a command on a store.
  init(_ words: String..., on store: ReplayStore) async throws {
    try await self.init(words + ["--store", store.path])
  }

  /// The lines as JSON objects.
  func objects() throws -> [[String: Any]] {
    try self.lines.map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
    }
  }
}

extension UUID {
  /// An identifier that begins with some digits.
  static func starting(_ digits: String) -> UUID {
    let zeros = String(repeating: "0", count: 32 - digits.count)
    let all = Array(digits + zeros)
    let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }
    return UUID(uuidString: parts.joined(separator: "-")) ?? UUID()
  }
}
