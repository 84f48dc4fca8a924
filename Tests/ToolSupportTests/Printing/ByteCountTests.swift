import Testing
import ToolSupport

struct ByteCountTests {
  @Test(arguments: [
    (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (3_277, "3.2 KiB"), (102_400, "100 KiB"),
    (102_349, "100 KiB"), (1_048_575, "1.0 MiB"), (1 << 20, "1.0 MiB"), (640 << 20, "640 MiB"),
    (1 << 30, "1.0 GiB"), (Int.max, "8.0 EiB"), (-2_048, "-2.0 KiB"),
  ])
  func anAmountHasThreeDigitsAndItsUnit(_ bytes: Int, _ text: String) {
    #expect(ByteCount.text(bytes) == text)
  }
}
