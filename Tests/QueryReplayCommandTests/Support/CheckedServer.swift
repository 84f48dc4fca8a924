import Foundation
import TestSupport
import Testing

/// A server of a test in Python, right or wrong in one way, and the check of it. It ends with the last
/// reference to it, however often it was killed and started.
final class CheckedServer: Sendable {
  /// Where its files are.
  let folder: ScratchFolder
  let port: Int
  /// The certificate that it is known by; nil: it speaks without encryption.
  let certificate: String?

  private let first: ChildProcess
  private let command: String

  /// The Python to run servers with; nil if there is none.
  static let python = ChildProcess.system("python3")
  /// What makes certificates; nil if there is none.
  static let openSSL = ChildProcess.system("openssl")

  /// Starts a server of the folder `Servers`.
  ///
  /// - Parameters:
  ///   - way: What is wrong with it, or `right`.
  ///   - isEncrypted: Whether it speaks TLS, by a certificate of its own.
  convenience init(_ way: String, isEncrypted: Bool = false) async throws {
    var script = URL(filePath: #filePath)
    for _ in 0..<2 { script.deleteLastPathComponent() }
    script.append(path: "CheckServer/Servers/notes_server.py")
    let folder = try ScratchFolder()
    let python = try #require(Self.python)
    let path = folder.url.path
    let certificate = isEncrypted ? try Self.certificate(in: folder) : nil
    try await self.init(folder, python, script.path, certificate) { port in
      [way, "\(port)", path] + (certificate.map { [$0] } ?? [])
    }
  }

  /// Makes a certificate of this machine, in one file with its key.
  private static func certificate(in folder: ScratchFolder) throws -> String {
    let openSSL = try #require(Self.openSSL)
    let file = folder.url.appending(path: "certificate.pem").path
    try ChildProcess.run(
      openSSL,
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", file, "-out", "\(file).own", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
        "subjectAltName=IP:127.0.0.1",
      ])
    let own = try String(contentsOfFile: "\(file).own", encoding: .utf8)
    let key = try String(contentsOfFile: file, encoding: .utf8)
    try (key + own).write(toFile: file, atomically: true, encoding: .utf8)
    return file
  }

  /// Starts a script.
  ///
  /// - Parameters:
  ///   - folder: The folder that it writes `pid` into, its number as a process. It prints a line once
  ///     it listens.
  ///   - certificate: What it is known by.
  ///   - words: Its arguments for a port.
  init(
    _ folder: ScratchFolder, _ python: String, _ script: String, _ certificate: String? = nil,
    words: (Int) -> [String]
  ) async throws {
    self.folder = folder
    self.certificate = certificate
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

  var root: String { "http\(self.certificate == nil ? "" : "s")://127.0.0.1:\(self.port)" }

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
  /// - Parameters:
  ///   - words: What follows its URL.
  ///   - isTrusted: Whether its certificate is known, if it has one.
  func check(_ words: [String], isTrusted: Bool = true) async throws -> CheckRun {
    var environment = [String: String]()
    if isTrusted, let certificate = self.certificate { environment["SSL_CERT_FILE"] = certificate }
    return try await CheckRun(
      ["\(self.root)/notes", "--example", "--yes"] + words, environment: environment)
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

  /// - Parameters:
  ///   - words: What follows `check-server`.
  ///   - environment: What is otherwise than usual.
  init(_ words: [String], environment: [String: String]) async throws {
    self.run = try await ToolRun(["check-server", "--json"] + words, environment: environment)
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
