import Foundation
import ToolSupport

/// `check-server`: whether a server carries out once what is sent to it again.
struct CheckServerCommand {
  let invocation: Invocation

  private struct Row: Encodable {
    var rule: String
    var purpose: String
    var verdict: String
    var says: String?
    /// How many writes were sent for it.
    var writes: Int
  }

  /// Asks, and prints what it found.
  ///
  /// - Returns: ``ExitCode/failed`` if something does not hold that is needed.
  /// - Throws: `UsageError`; `ToolError` if the server cannot be reached; what printing throws.
  func run() async throws -> ExitCode {
    let command = self.invocation.command
    let target = try CheckTarget(command)
    let rules = Self.rules(command)
    let olderThan = command.duration(CheckServerOption.olderThan)
    let keyFile = command.text(CheckServerOption.keys).map { KeyFile(path: $0) }
    if olderThan != nil, keyFile == nil {
      throw command.usageError("--older-than asks for a key of --keys FILE")
    }
    if !target.isLoopback, !command.has(CheckServerOption.really) {
      throw command.usageError(
        "\(target.url.host() ?? "") is not this machine, and gets real writes: give --really if "
          + "it is a server for tests")
    }
    try Confirmation.require(Self.question(target, rules), self.invocation)
    let check = ServerCheck(target, keyFile: keyFile, olderThan: olderThan)
    return try await self.ask(check, rules)
  }

  private static func rules(_ command: ParsedCommand) -> [CheckRule] {
    let only = command.texts(CheckServerOption.only)
    return CheckRule.allCases.filter { only.isEmpty || only.contains($0.rawValue) }
  }

  private static func question(_ target: CheckTarget, _ rules: [CheckRule]) -> String {
    let kills = rules.contains(.survives) ? target.kill.map { ", and kill it by “\($0)”" } : nil
    return "Send up to \(ServerCheck.maximumWrites) writes to \(target.url)\(kills ?? "")?"
  }

  private func ask(_ check: ServerCheck, _ rules: [CheckRule]) async throws -> ExitCode {
    var failed = false
    var refusal: String?
    for rule in rules {
      let before = check.writes
      var finding: CheckFinding
      if refusal != nil {
        finding = .unasked("The write itself was refused.")
      } else {
        do {
          finding = try await Self.finding(rule, check)
        } catch let refused as ServerCheck.Refused {
          finding = .fails(refused.words)
          refusal = refused.words
        } catch is ServerCheck.OutOfWrites {
          finding = .noWriteLeft
        }
      }
      if finding.verdict == .fails { failed = true }
      try self.print(rule, finding, writes: check.writes - before)
    }
    if self.invocation.json == nil {
      try self.invocation.output.line("\(check.writes) writes were sent.")
    }
    return failed ? .failed : .success
  }

  private static func finding(_ rule: CheckRule, _ check: ServerCheck) async throws -> CheckFinding
  {
    switch rule {
    case .repeats: try await check.repeats()
    case .once: try await check.once()
    case .lostAnswer: try await check.lostAnswer()
    case .concurrent: try await check.concurrent()
    case .fingerprint: try await check.fingerprint()
    case .scope: try await check.scope()
    case .readsOwnWrites: try await check.readsOwnWrites()
    case .validators: try await check.validators()
    case .keeps: try await check.keeps()
    case .survives: try await check.survives()
    }
  }

  private func print(_ rule: CheckRule, _ finding: CheckFinding, writes: Int) throws {
    let output = self.invocation.output
    if let json = self.invocation.json {
      try json.print(
        Row(
          rule: rule.rawValue, purpose: rule.purpose, verdict: finding.verdict.rawValue,
          says: finding.says, writes: writes),
        to: output)
    } else {
      let verdict = finding.verdict == .fails ? "FAILS" : finding.verdict.rawValue
      let name = rule.rawValue.padding(toLength: 17, withPad: " ", startingAt: 0)
      try output.line(
        "\(verdict.padding(toLength: 8, withPad: " ", startingAt: 0))\(name) \(rule.purpose)")
      if let says = finding.says { try output.line("        \(SafeText.escape(says))") }
    }
    // A check takes its time, and somebody watches.
    try output.flush()
  }
}
