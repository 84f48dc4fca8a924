import Foundation
import TestSupport
import Testing

@testable import cache_bench

/// `Tools/figures`, on files of `cache-bench --json`.
@Suite(.enabled(if: BenchScript.isThere, "there is no bash or no jq"))
final class FiguresTests {
  private let folder: ScratchFolder

  init() throws { self.folder = try ScratchFolder() }

  private func article(_ outcomes: [Outcome]) async throws -> [String] {
    let file = "\(self.folder.path)/figures.json"
    try Report(scale: .quick, task: 500, outcomes: outcomes).write(to: file)
    let run = try await BenchScript.run("figures", [file])
    #expect(run.end == .code(0))
    return run.lines
  }

  @Test func eachRowIsALineOfATable() async throws {
    let bytes = Outcome(
      row: SampleRow.row(unit: .bytes, title: "a | in it"), figures: SampleRow.figures(8_240),
      floors: SampleRow.figures(2_097_152), leans: .init())
    let lines = try await self.article([SampleRow.whole, SampleRow.failed, bytes])
    #expect(
      lines.filter { $0.contains("≤ 2 ×") } == [
        "| a sample | 3 µs | ≤ 2 × ✓ | 2 µs | a floor |",
        "| a sample | – | ≤ 2 × ✗ | – | a floor |",
        #"| a \| in it | 8.05 KiB | ≤ 2 × ✓ | 2 MiB | a floor |"#,
      ])
    #expect(lines.contains("2 of 3 goals are met."))
  }

  @Test func theMachineAndTheDayAreNamed() async throws {
    let text = try await self.article([SampleRow.whole]).joined(separator: " ")
    let day = Date().formatted(.iso8601.year().month().day())
    #expect(text.contains("Measured on \(day) by"))
    #expect(text.contains("\(ProcessInfo.processInfo.activeProcessorCount) processors"))
    #expect(text.contains("Linux \(Machine.current().kernel)."))
    #expect(text.contains("500 ns here"))
  }

  @Test func whatDoesNotNameItsMachineIsRefused() async throws {
    let file = "\(self.folder.path)/old.json"
    try Data(#"{"rows":[]}"#.utf8).write(to: URL(filePath: file))
    let run = try await BenchScript.run("figures", [file])
    #expect(
      run.lines == ["figures: \(file): not a file of cache-bench --json that names its machine"])
    #expect(run.end == .code(65))
    #expect(try await BenchScript.run("figures", []).end == .code(64))
  }
}
