import Foundation

/// How dates are stored: as integer microseconds since 1970.
extension Date {
  /// The reference date of `Date`, 2001, in microseconds since 1970.
  private static let referenceDate: Int64 = 978_307_200_000_000

  /// As far from 2001 as a date is stored, in microseconds: 146 000 years. A power of two, so that it
  /// is the same number as a `Double`.
  private static let limit = 0x1p62

  /// The date in microseconds since 1970, rounded so that the date which comes back is never later
  /// than this one. What is too far away, or no number, is as far away as can be stored.
  var microsecondsSince1970: Int64 {
    // Not since 1970: adding the distance to a Double would round before we do.
    let seconds = self.timeIntervalSinceReferenceDate
    guard seconds > -Self.limit / 1e6 else { return Self.referenceDate - Int64(Self.limit) }
    guard seconds < Self.limit / 1e6 else { return Self.referenceDate + Int64(Self.limit) }
    var microseconds = (seconds * 1e6).rounded(.down)
    // The product was rounded. What is looked for is the last number whose date is not later, so that
    // a date that came back is stored as the same number again.
    let step = max(1, microseconds.ulp)
    while microseconds / 1e6 > seconds { microseconds -= step }
    while (microseconds + step) / 1e6 <= seconds { microseconds += step }
    return Self.referenceDate + Int64(microseconds)
  }

  /// Makes a date of what is stored.
  ///
  /// - Parameter microseconds: Microseconds since 1970, any number.
  init(microsecondsSince1970 microseconds: Int64) {
    let (difference, isTooEarly) = microseconds.subtractingReportingOverflow(Self.referenceDate)
    self.init(
      timeIntervalSinceReferenceDate: Double(isTooEarly ? .min : difference) / 1e6)
  }
}
