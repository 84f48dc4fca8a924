import Testing

@testable import cache_bench

/// What people read of the figures.
@Suite struct TableTests {
  private func words(_ line: String) -> [Substring] {
    line.split { $0 == " " }.map { $0 }
  }

  @Test func theFloorAndTheLeanProgramStandBelowTheRow() throws {
    let lines = Table.lines(for: SampleRow.whole)
    #expect(lines.count == 3)
    #expect(
      self.words(lines[0]).joined(separator: " ")
        == "✓ a sample ≤ 2 × 3.00 µs 2.00 µs 8240 B 2.00 2.00")
    #expect(
      self.words(lines[1]).joined(separator: " ")
        == "floor: a floor 1.50 × 2.00 µs 1.50 µs 16480 B 4.00 2.00")
    #expect(
      self.words(lines[2]).joined(separator: " ")
        == "lean: a lean one 3.00 × 1.00 µs 500 ns 4120 B 1.00 2.00")
  }

  @Test func aRowWithoutALeanProgramSaysWhy() {
    let outcome = Outcome(
      row: SampleRow.row(lean: .absent("nothing is written"), unit: .commits),
      figures: .init(values: [2]), floors: .init(values: [2]), leans: .init())
    #expect(Table.lines(for: outcome).last == "    no lean program: nothing is written")
  }

  @Test func aGoalThatIsMetForTheSpeedOfTheMachineSaysByHowMuch() {
    func lines(_ figure: Double) -> [String] {
      Table.lines(
        for: Outcome(
          row: SampleRow.row(lean: nil, goal: .atMost(1_000)), figures: .init(values: [figure]),
          floors: .init(values: [1]), leans: .init(), speed: MachineSpeed(task: 1_200)))
    }
    #expect(lines(1_000).count == 2)
    let slow = lines(1_400)
    #expect(slow.count == 3 && slow[0].hasPrefix("≈ a sample"))
    #expect(self.words(slow[2]).suffix(3) == ["goal", "×", "1.50"])
  }

  @Test func aRowThatFailedSaysWhy() {
    let lines = Table.lines(for: SampleRow.failed)
    #expect(lines.count == 2 && lines[0].hasPrefix("✗ a sample"))
    #expect(lines[1] == "    failed: no disk")
  }

  /// A terminal has 120 columns, and the numbers stand below one another.
  @Test func noLineIsWiderThanATerminal() {
    let rows = RowGroup.all(entries: 100_000).flatMap(\.rows)
    let expense = Expense(
      processorTime: 123_456_789, bytesWritten: 123_456_789, frames: 12_345, syncs: 99.99)
    for row in rows {
      let isCount = [.commits, .wakeUps].contains(row.unit)
      let figures = Outcome.Figures(values: [isCount ? 99 : 123_456_789], expenses: [expense])
      let outcome = Outcome(row: row, figures: figures, floors: figures, leans: figures)
      let lines = Table.lines(for: outcome)
      for line in lines { #expect(line.count <= 120, "\(line)") }
      #expect(lines.filter { $0.hasSuffix("12345  99.99") }.allSatisfy { $0.count == 120 })
      #expect(lines.count { $0.hasSuffix("12345  99.99") } >= 2)
    }
    #expect(Table.header.count == 120)
  }

  @Test func whatIsNotCountedIsADash() {
    let expense = Expense(processorTime: 1, bytesWritten: 0, frames: .nan, syncs: .nan)
    let figures = Outcome.Figures(values: [1], expenses: [expense])
    let outcome = Outcome(
      row: SampleRow.row(lean: nil), figures: figures, floors: figures, leans: .init())
    #expect(Table.lines(for: outcome)[0].hasSuffix("      -      -"))
  }
}
