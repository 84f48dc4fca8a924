import Foundation
import Testing

@testable import cache_bench

/// The file of `--json`.
@Suite struct ReportTests {
  /// Keys are added, never renamed.
  private static let keys: Set = [
    "name", "title", "goal", "unit", "isMet", "verdict", "taskNanoseconds", "failure",
    "floorTitle", "leanTitle", "noLeanBecause", "figure", "floor", "lean", "ratio", "leanRatio",
    "figures", "floors", "leans", "expenses", "floorExpenses", "leanExpenses",
    "processorTime", "floorProcessorTime",
    "leanProcessorTime", "bytesWritten", "floorBytesWritten", "leanBytesWritten", "frames",
    "floorFrames", "leanFrames", "syncs", "floorSyncs", "leanSyncs",
  ]

  private func rows(_ outcomes: Outcome...) throws -> [[String: Any]] {
    let report = Report(scale: .quick, task: 500, outcomes: outcomes)
    let object = try JSONSerialization.jsonObject(with: report.json()) as? [String: Any]
    #expect(
      object.map { Set($0.keys) } == ["date", "machine", "rounds", "taskNanoseconds", "rows"])
    let machine = try #require(object?["machine"] as? [String: Any])
    #expect(
      Set(machine.keys) == ["processor", "processors", "memoryBytes", "system", "kernel"])
    #expect(machine["processors"] as? Int == ProcessInfo.processInfo.activeProcessorCount)
    #expect((machine["kernel"] as? String)?.isEmpty == false)
    #expect(object?["rounds"] as? Int == Scale.quick.rounds)
    return try #require(object?["rows"] as? [[String: Any]])
  }

  @Test func everyKeyIsThereWhateverBecameOfTheRow() throws {
    for row in try self.rows(SampleRow.whole, SampleRow.failed) {
      #expect(Set(row.keys) == Self.keys)
    }
  }

  @Test func theFiguresAreMedians() throws {
    let row = try self.rows(SampleRow.whole)[0]
    let expected: [String: Double] = [
      "figure": 3_000, "floor": 2_000, "lean": 1_000, "ratio": 1.5, "leanRatio": 3,
      "processorTime": 2_000, "floorProcessorTime": 1_500, "leanProcessorTime": 500,
      "bytesWritten": 8_240, "floorBytesWritten": 16_480, "leanBytesWritten": 4_120, "frames": 2,
      "floorFrames": 4, "leanFrames": 1, "syncs": 2, "floorSyncs": 2, "leanSyncs": 2,
    ]
    for (key, value) in expected { #expect(row[key] as? Double == value, "\(key)") }
    #expect(row["leanTitle"] as? String == "a lean one")
    #expect(row["noLeanBecause"] is NSNull)
    #expect(row["leans"] as? [Double] == [9_000, 1_000, 1_000])
    let expenses = row["expenses"] as? [[String: Double]]
    #expect(expenses?.map { $0["syncs"] } == [18, 2, 2])
    #expect(
      expenses?.allSatisfy {
        Set($0.keys) == ["processorTime", "bytesWritten", "frames", "syncs"]
      } == true)
  }

  @Test func whatFailedHasNullsAndItsReason() throws {
    let row = try self.rows(SampleRow.failed)[0]
    #expect(row["failure"] as? String == "no disk")
    #expect(row["noLeanBecause"] as? String == "nothing is written")
    #expect(row["isMet"] as? Bool == false)
    for key in ["figure", "floor", "lean", "ratio", "frames", "syncs", "leanTitle"] {
      #expect(row[key] is NSNull, "\(key)")
    }
  }

  /// JSON has no number for a ratio to nothing, nor for what is not counted.
  @Test func whatIsNoNumberIsNull() throws {
    let expense = Expense(frames: .nan, syncs: .nan)
    let row = try self.rows(
      Outcome(
        row: SampleRow.row(), figures: .init(values: [1], expenses: [expense]),
        floors: .init(values: [0]), leans: .init()))[0]
    #expect(row["ratio"] is NSNull)
    #expect(row["frames"] is NSNull)
    #expect((row["expenses"] as? [[String: Any]])?[0]["syncs"] is NSNull)
  }

  @Test func whatIsMetForTheSpeedOfTheMachineIsSaid() throws {
    func outcome(_ figure: Double) -> Outcome {
      Outcome(
        row: SampleRow.row(goal: .atMost(1_000)), figures: .init(values: [figure]),
        floors: .init(values: [1]), leans: .init(), speed: MachineSpeed(task: 1_200))
    }
    let rows = try self.rows(outcome(1_000), outcome(1_500), outcome(1_501))
    #expect(rows.map { $0["verdict"] as? String } == ["met", "metForSpeed", "missed"])
    #expect(rows.map { $0["isMet"] as? Bool } == [true, false, false])
    #expect(rows[0]["taskNanoseconds"] as? Double == 1_200)
    func report(_ outcomes: Outcome...) -> Report {
      Report(scale: .quick, task: 1_200, outcomes: outcomes)
    }
    #expect(report(outcome(1_000)).summary == "1 of 1 goals met")
    let slow = report(outcome(1_000), outcome(1_500))
    #expect(slow.isMet && slow.summary.hasPrefix("1 of 2 goals met, and 1 (≈) for the speed"))
    #expect(!report(outcome(1_501)).isMet)
  }
}
