import Testing
import ToolSupport

struct DurationTextTests {
  @Test(arguments: [
    ("30s", 30.0), ("5min", 300), ("5m", 300), ("1h", 3_600), ("2d", 172_800), ("250ms", 0.25),
    ("1h30min", 5_400), ("0s", 0), ("1min1s1ms", 61.001), ("10sec", 10),
  ])
  func aLengthIsASumOfNumbersWithUnits(_ text: String, _ seconds: Double) {
    #expect(DurationText.parse(text) == .milliseconds(Int((seconds * 1_000).rounded())))
  }

  @Test(arguments: [
    "", "30", "s", "30 s", "-5s", "1.5h", "5x", "1hmin", "999999999999d", "9999999999999s", "٣s",
    "36601d",
  ])
  func anythingElseIsNone(_ text: String) { #expect(DurationText.parse(text) == nil) }
}
