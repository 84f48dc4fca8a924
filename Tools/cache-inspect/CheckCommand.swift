import FoundationEssentials
import Glibc
import QueryInspection
import ToolSupport

/// `check`: the problems of a store, as they are found.
struct CheckCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  func run() throws -> ExitCode {
    let store = try self.invocation.inspection()
    // Progress goes to standard error, if that is a terminal.
    let terminal = Terminal(of: 2)
    var count = 0
    func clear() { if terminal.isTerminal { Self.tell("\r\u{1b}[K") } }
    try store.check(
      self.invocation.partition,
      progress: { progress in
        guard terminal.isTerminal else { return }
        let total = progress.total.map { " of \($0)" } ?? ""
        Self.tell("\r\(progress.step): \(progress.done)\(total)\u{1b}[K")
      },
      found: { finding in
        count += 1
        clear()
        try self.print(finding)
        try self.invocation.output.flush()
      })
    clear()
    if self.invocation.json == nil {
      try self.invocation.output.line(
        count == 0 ? "all is well" : "\(count) \(count == 1 ? "thing is" : "things are") wrong")
    }
    return count == 0 ? .success : .badData
  }

  private func print(_ finding: InspectionFinding) throws {
    if try self.invocation.printed(FindingView(finding)) { return }
    let kind = self.invocation.terminal.styled(finding.kind.rawValue, .bad)
    let place = [
      finding.file, finding.partition.flatMap { $0.isEmpty ? nil : "partition \"\($0)\"" },
      finding.subject,
    ].compactMap { $0 }.joined(separator: ", ")
    try self.invocation.output.line(
      "\(kind)  \(SafeText.escape(place)): \(SafeText.escape(finding.message))")
  }

  private static func tell(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
  }
}

/// A problem, as JSON.
private struct FindingView: Encodable {
  let kind: String
  let file: String
  let partition: String?
  let subject: String?
  let message: String

  init(_ finding: InspectionFinding) {
    self.kind = finding.kind.rawValue
    self.file = finding.file
    self.partition = finding.partition
    self.subject = finding.subject
    self.message = finding.message
  }
}
