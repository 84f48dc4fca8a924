import Testing

@testable import cache_inspect

/// Numbers read as a person writes them.
@Suite struct ReportMeasureTests {
  @Test(arguments: [
    (0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-1_234, "−1,234"),
    (.min, "−9,223,372,036,854,775,808"),
  ])
  func thousandsAreDividedByCommas(number: Int, text: String) {
    #expect(ReportMeasure.count(number) == text)
  }

  @Test func oneIsNamedInTheSingular() {
    #expect(ReportMeasure.count(1, "entry", "entries") == "1 entry")
    #expect(ReportMeasure.count(0, "entry", "entries") == "0 entries")
  }

  @Test(arguments: [
    (0, "0 B"), (1_023, "1023 B"), (1_024, "1 KiB"), (3_277, "3.2 KiB"), (102_350, "100 KiB"),
    (1_048_575, "1 MiB"), (268_435_456, "256 MiB"), (.max, "8388608 TiB"),
  ])
  func sizesHaveTheUnitThatSuitsThem(bytes: Int, text: String) {
    #expect(ReportMeasure.size(bytes) == text)
  }

  @Test(arguments: [
    (1, 4, "25.00%"), (0, 4, "0.00%"), (5, 4, "100.00%"), (-1, 4, "0.00%"), (1, 0, "0%"),
    (.infinity, 4, "0%"),
  ])
  func aPartIsNeverOutsideTheWhole(part: Double, whole: Double, text: String) {
    #expect(ReportMeasure.percent(part, of: whole) == text)
  }
}
