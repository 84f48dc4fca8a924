import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct DateMicrosecondsTests {
  @Test(
    arguments: [
      (0, 978_307_200_000_000), (-978_307_200, 0), (0.000_001, 978_307_200_000_001),
      (-0.000_000_1, 978_307_199_999_999), (0.3, 978_307_200_300_000),
    ] as [(Double, Int64)])
  func datesAreMicrosecondsSince1970(_ seconds: Double, _ stored: Int64) {
    let date = Date(timeIntervalSinceReferenceDate: seconds)
    #expect(date.microsecondsSince1970 == stored)
  }

  @Test(arguments: SeededGenerator.seeds(4))
  func aDateThatComesBackIsNeverLaterAndStaysWhatItIs(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<20_000 {
      let scale: Double = [1.0, 1e3, 8e8, 1e10, 1e12].randomElement(using: &generator) ?? 1
      let seconds = Double.random(in: -1...1, using: &generator) * scale
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      let restored = Date(microsecondsSince1970: date.microsecondsSince1970)
      #expect(restored <= date)
      // A microsecond, or what doubles of this size are apart.
      #expect(date.timeIntervalSince(restored) <= max(1.000_1e-6, seconds.magnitude.ulp * 2))
      #expect(Date(microsecondsSince1970: restored.microsecondsSince1970) == restored)
    }
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300, 4.611_7e12, -4.611_7e12])
  func whatDoesNotFitIsAsFarAwayAsCanBe(_ seconds: Double) {
    let stored = Date(timeIntervalSinceReferenceDate: seconds).microsecondsSince1970
    let isLate = seconds > 0
    #expect(isLate ? stored > 1 << 62 : stored < -(1 << 61))
    #expect(Date(microsecondsSince1970: stored).timeIntervalSinceReferenceDate.isFinite)
  }

  @Test(arguments: [Int64.min, .max, .min + 1])
  func anyStoredNumberIsADate(_ stored: Int64) {
    #expect(Date(microsecondsSince1970: stored).timeIntervalSinceReferenceDate.isFinite)
  }
}
