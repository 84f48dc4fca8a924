import Foundation
import TestSupport
import Testing

/// A server of a test in Python, right or wrong in one way, and the check of it. It ends with the last
/// reference to it, however often it was killed and started.
final class CheckedServer: Sendable {
  /// Where its files are.
  let folder: ScratchFolder
  let port: Int

  private let first: ChildProcess
  private let command: String

  /// The Python to run servers with; nil if there is none.
  static let python = ChildProcess.system("python3")

  /// Starts a server of the folder `Servers`.
  ///
  /// - Parameter way: What is wrong with it, or `right`.
  convenience init(_ way: String) async throws {
    var script = URL(filePath: #filePath)
    for _ in 0..<2 { script.deleteLastPathComponent() }
    script.append(path: "CheckServer/Servers/notes_server.py")
    let folder = try ScratchFolder()
    let python = try #require(Self.python)
    let path = folder.url.path
    try await self.init(folder, python, script.path) { port in [way, "\(port)", path] }
  }

  /// Starts a script.
  ///
  /// - Parameters:
  ///   - folder: The folder that it writes `pid` into, its number as a process. It prints a line once
  ///     it listens.
  ///   - words: Its arguments for a port.
  init(
    _ folder: ScratchFolder, _ python: String, _ script: String, words: (Int) -> [String]
  ) async throws {
    self.folder = folder
    let flags = ["-B", script]
    var started: (child: ChildProcess, port: Int)?
    while started == nil {
      // None that a connection of somebody else may be given while the server is dead.
      let port = Int.random(in: 20_000..<32_000)
      let child = try ChildProcess(python, flags + words(port), errors: .null)
      if await child.line() != nil { started = (child, port) }
    }
    let (child, port) = try #require(started)
    self.first = child
    self.port = port
    // What outlives a test that is killed ends in a while.
    self.command = (["timeout", "600", python] + flags + words(port)).map { "'\($0)'" }.joined(
      separator: " ")
  }

  deinit {
    let text = try? String(contentsOf: self.folder.url.appending(path: "pid"), encoding: .utf8)
    if let pid = text.flatMap({ pid_t($0) }) { kill(pid, SIGKILL) }
  }

  var root: String { "http://127.0.0.1:\(self.port)" }

  /// What kills it and starts it.
  var restarting: [String] {
    let pid = self.folder.url.appending(path: "pid").path
    return ["--kill-command", "kill -9 $(cat '\(pid)')", "--start-command", self.command]
  }

  /// What every rule needs of the servers of `Servers`.
  var everything: [String] {
    self.restarting + [
      "--count-url", "\(self.root)/count", "--count-path", "/notes/total",
      "--read-url", "\(self.root)/notes/{id}", "--header", "Authorization: ada",
      "--other-header", "Authorization: eve",
    ]
  }

  /// Checks it.
  ///
  /// - Parameter words: What follows its URL.
  func check(_ words: [String]) async throws -> CheckRun {
    try await CheckRun(["\(self.root)/notes", "--example", "--yes"] + words)
  }
}

/// A run of `check-server`.
struct CheckRun {
  var run: ToolRun
  /// What was found, by the rule.
  var verdicts = [String: String]()
  /// What it says of each.
  var says = [String: String]()
  /// How many writes were sent.
  var writes = 0

  /// - Parameter words: What follows `check-server`.
  init(_ words: [String]) async throws {
    self.run = try await ToolRun(["check-server", "--json"] + words)
    for object in try self.run.objects() {
      let rule = object["rule"] as? String ?? ""
      self.verdicts[rule] = object["verdict"] as? String
      self.says[rule] = object["says"] as? String
      self.writes += object["writes"] as? Int ?? 0
    }
  }

  /// The rules with one of these verdicts.
  func rules(_ verdicts: String...) -> Set<String> {
    Set(self.verdicts.filter { verdicts.contains($0.value) }.keys)
  }
}
