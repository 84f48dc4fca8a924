import Foundation
import Testing
import ToolSupport

struct AgeTests {
  private let now = Date(timeIntervalSince1970: 1_700_000_000)

  @Test(arguments: [
    (-240, "4 min ago"), (3, "in 3 s"), (0, "now"), (0.5, "now"), (-59.9, "59 s ago"),
    (-3_600, "1 h ago"), (-90_000, "1 d ago"), (7_300, "in 2 h"), (-1e13, "long ago"),
  ])
  func aMomentIsSeenFromNow(_ seconds: Double, _ text: String) {
    #expect(Age.text(of: self.now + seconds, at: self.now) == text)
  }

  @Test func lengthsHaveAUnit() {
    #expect(Age.text(seconds: 0.25) == "250 ms")
    #expect(Age.text(seconds: 0) == "0 ms")
    #expect(Age.text(seconds: 86_400 * 3) == "3 d")
    #expect(Age.text(seconds: .infinity) == "long")
  }
}
