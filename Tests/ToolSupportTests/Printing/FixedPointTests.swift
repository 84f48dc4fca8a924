import Foundation
import Testing
import ToolSupport

@Suite struct FixedPointTests {
  @Test(arguments: [0, 0.5, 1.5, -0.05, 0.125, 2.345, 1e9 / 3, -99.995, 1e300])
  func itRoundsAsTheFormatsOfFoundationDo(_ number: Double) {
    #expect(FixedPoint.text(number, decimals: 0) == String(format: "%.0f", number))
    #expect(FixedPoint.text(number, decimals: 1) == String(format: "%.1f", number))
    #expect(FixedPoint.text(number, decimals: 3) == String(format: "%.3f", number))
  }
}
