import Foundation
import TestSupport

/// What a run of the built tool came to.
struct InspectorRun: Sendable {
  /// How it ended; nil: by a signal.
  let code: Int32?
  /// The lines of the standard output.
  let lines: [String]
  /// Those of the standard error.
  let errors: [String]

  /// The standard output.
  var text: String { self.lines.joined(separator: "\n") }

  /// Runs the tool to its end, in UTC and with no folders of this user's.
  ///
  /// - Parameters:
  ///   - arguments: The command line.
  ///   - input: What it reads from the standard input; nil: nothing.
  ///   - environment: Other variables.
  ///   - folder: Where it is started, and so where a relative path leads; nil: where the tests run.
  init(
    _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
    in folder: String? = nil
  ) async throws {
    let child = try Self.start(arguments, input: input, environment: environment, in: folder)
    async let errors = Self.all(child.errorLines)
    self.lines = await Self.all(child.lines)
    self.errors = await errors
    if case .code(let code) = await child.end() {
      self.code = code
    } else {
      self.code = nil
    }
  }

  /// Starts the tool.
  static func start(
    _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
    in folder: String? = nil
  ) throws -> ChildProcess {
    var variables = ["TZ": "UTC", "HOME": "/nonexistent", "NO_COLOR": "1"]
    variables.merge(environment) { $1 }
    let tool = try ChildProcess.product("cache-inspect")
    let child = try ChildProcess(
      folder == nil ? tool : "/usr/bin/env",
      (folder.map { ["-C", $0, tool] } ?? []) + arguments, environment: variables,
      input: input == nil ? .null : .pipe, output: .pipe, errors: .pipe)
    if let input {
      // A child that has read enough closes it.
      try? child.write(input)
      child.closeInput()
    }
    return child
  }

  private static func all(_ stream: AsyncStream<String>) async -> [String] {
    var lines = [String]()
    for await line in stream { lines.append(line) }
    return lines
  }
}
