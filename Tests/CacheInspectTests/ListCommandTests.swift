import Foundation
import Testing

/// The tools: whatever an identity or a value has in it, a terminal and a program are safe from it.
@Suite struct ListCommandTests {
  private static let commands = [
    ["list"], ["show", "bfe95cbc52dd"], ["show", "092f5f782ca2"], ["stats"], ["outbox"],
    ["history"], ["list", "--json"], ["show", "bfe95cbc52dd", "--json"], ["stats", "--json"],
  ]

  @Test(arguments: commands)
  func nothingThatATerminalWouldObeyIsPrinted(_ command: [String]) async throws {
    let store = try SampleStore()
    let run = try await InspectorRun(command + ["-s", store.path])
    #expect(run.code == 0)
    let unsafe = run.text.unicodeScalars.filter {
      $0 != "\n" && ($0.value < 0x20 || (0x7f..<0xa0).contains($0.value))
        || (0x202a...0x202e).contains($0.value)
    }
    #expect(unsafe.isEmpty, "\(command)")
  }

  @Test func aTerminalHasColoursAndNoLineIsLongerThanIt() async throws {
    let store = try SampleStore()
    let script =
      "NO_COLOR= TERM=xterm script -qec 'stty cols 60; \"$TOOL\" list -s \"$STORE\"' /dev/null"
    let shell = try await Shell.run("command -v script > /dev/null && \(script)", store)
    // Without a program that gives it a terminal, there is nothing to see.
    if shell.code != 0 { return }
    #expect(shell.text.contains("\u{1b}[1m"))
    // A carriage return and a line feed are one character.
    let scalars = shell.text.unicodeScalars.filter { $0 != "\r" }
    let plain = String(String.UnicodeScalarView(scalars)).replacing(
      #/\u{1b}\[[0-9]+m/#, with: "")
    for line in plain.split(separator: "\n") { #expect(line.count <= 60, "\(line)") }
    // The identity is what one looks for.
    #expect(plain.contains("[\"texts\",\"plain\"]"))
  }

  @Test func anIdentifierIsWholeHoweverNarrowTheTerminalIs() async throws {
    let store = try SampleStore()
    let script = "TERM=dumb script -qec 'stty cols 60; \"$TOOL\" outbox -s \"$STORE\"' /dev/null"
    let shell = try await Shell.run("command -v script > /dev/null && \(script)", store)
    if shell.code != 0 { return }
    let ids = try await store.inspect("outbox", "--json").lines.compactMap {
      $0.firstMatch(of: #/"id":"([^"]+)"/#).map { String($0.1) }
    }
    #expect(!ids.isEmpty)
    for id in ids { #expect(shell.text.contains(id)) }
    for line in shell.text.split(whereSeparator: \.isNewline) {
      #expect(line.count <= 60, "\(line)")
    }
  }

  @Test func aFreshStoreOfAnApplicationThatWritesIsListed() async throws {
    let store = try SampleStore()
    let shell = try await Shell.run(
      "for i in 1 2 3 4 5; do \"$TOOL\" list -s \"$STORE\" | wc -l & done; wait", store)
    #expect(shell.text.split(separator: "\n").map(String.init) == ["9", "9", "9", "9", "9"])
  }
}
