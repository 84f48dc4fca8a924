import Foundation
import TestSupport
import Testing

@testable import cache_bench

/// `Tools/bench-compare`, on files of `cache-bench --json`.
@Suite(.enabled(if: BenchScript.isThere, "there is no bash or no jq"))
final class BenchCompareTests {
  private let folder = URL.temporaryDirectory.appending(path: "compare-\(UUID())")

  init() throws {
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(at: self.folder) }

  /// An outcome whose rounds differ by a few per cent.
  private func outcome(
    time: Double = 3_000, processorTime: Double = 2_000, frames: Double = 10, syncs: Double = 2
  ) -> Outcome {
    func figures(_ time: Double, _ expense: Expense) -> Outcome.Figures {
      let noise = [0.97, 0.99, 1, 1.01, 1.03]
      return Outcome.Figures(
        values: noise.map { time * $0 },
        expenses: noise.map {
          Expense(
            processorTime: expense.processorTime * $0, bytesWritten: expense.bytesWritten,
            frames: expense.frames, syncs: expense.syncs)
        })
    }
    let expense = Expense(
      processorTime: processorTime, bytesWritten: frames * 4_120, frames: frames, syncs: syncs)
    return Outcome(
      row: SampleRow.row(), figures: figures(time, expense),
      floors: figures(2_000, Expense(processorTime: 1_000)), leans: .init())
  }

  private func compare(
    _ old: Outcome..., to new: [Outcome], options: [String] = []
  ) async throws -> (end: ChildProcess.End, lines: [String]) {
    let files = try [("old", old), ("new", new)].map { name, outcomes in
      let file = self.folder.appending(path: "\(name).json")
      try Report(scale: .quick, task: 500, outcomes: outcomes).write(to: file.path)
      return file.path
    }
    return try await self.run(options + files)
  }

  private func run(
    _ arguments: [String]
  ) async throws -> (end: ChildProcess.End, lines: [String]) {
    try await BenchScript.run("bench-compare", arguments)
  }

  @Test func whatIsWithinTheNoiseHasNotMoved() async throws {
    let run = try await self.compare(
      self.outcome(),
      to: [self.outcome(time: 3_060, processorTime: 2_030, frames: 10.2, syncs: 2.04)])
    #expect(run.lines == [])
    #expect(run.end == .code(0))
  }

  @Test func whatIsBeyondItIsNamed() async throws {
    let run = try await self.compare(
      self.outcome(),
      to: [self.outcome(time: 4_000, processorTime: 3_000, frames: 12, syncs: 3)])
    #expect(
      run.lines == [
        "slower\tsample\t1.5 → 2 × floor",
        "more processor time\tsample\t2 → 3 × floor",
        "more bytes\tsample\t41200 → 49440 B",
        "more frames\tsample\t10 → 12 frames",
        "more syncs\tsample\t2 → 3 syncs",
      ])
    #expect(run.end == .code(1))
  }

  @Test func whatUsesLessIsNoReasonToFail() async throws {
    let run = try await self.compare(self.outcome(), to: [self.outcome(frames: 5, syncs: 1)])
    #expect(
      run.lines == [
        "fewer bytes\tsample\t41200 → 20600 B", "fewer frames\tsample\t10 → 5 frames",
        "fewer syncs\tsample\t2 → 1 syncs",
      ])
    #expect(run.end == .code(0))
  }

  @Test func moreSyncsAloneAreAReasonToFail() async throws {
    let run = try await self.compare(self.outcome(syncs: 0), to: [self.outcome(syncs: 1)])
    #expect(run.lines == ["more syncs\tsample\t0 → 1 syncs"])
    #expect(run.end == .code(1))
  }

  @Test func allAreNamedOnRequest() async throws {
    let run = try await self.compare(
      self.outcome(syncs: 0), to: [self.outcome(syncs: 0)], options: ["--all"])
    #expect(
      run.lines == [
        "same\tsample\t1.5 → 1.5 × floor", "same\tsample\t2 → 2 × floor",
        "same\tsample\t41200 → 41200 B", "same\tsample\t10 → 10 frames",
      ])
  }

  @Test func aRowOfOneFileIsNamed() async throws {
    #expect(
      try await self.compare(self.outcome(), to: []).lines == ["only in the old file: sample"])
    #expect(
      try await self.compare(self.outcome(), to: [SampleRow.failed]).lines
        == ["only in the old file: sample"])
  }

  /// One that was written before rounds had counts.
  @Test func anOlderFileIsComparedByItsTimes() async throws {
    let old = self.folder.appending(path: "older.json")
    let text = #"{"rows":[{"name":"sample","failure":null,"floor":1,"figures":[1,1,1]}]}"#
    try Data(text.utf8).write(to: old)
    let new = self.folder.appending(path: "new.json")
    try Report(scale: .quick, task: 500, outcomes: [self.outcome()]).write(to: new.path)
    let run = try await self.run([old.path, new.path])
    #expect(run.lines == ["slower\tsample\t1 → 1.5 × floor"])
  }

  @Test func whatIsNoReportIsRefused() async throws {
    let file = self.folder.appending(path: "x.json")
    try Data("{}".utf8).write(to: file)
    let run = try await self.run([file.path, file.path])
    #expect(run.lines == ["bench-compare: \(file.path): not a file of cache-bench --json"])
    #expect(run.end == .code(65))
  }
}
