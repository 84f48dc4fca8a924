package import FoundationEssentials

/// Dates are stored as integer microseconds since 1970.
extension Date {
  /// The reference date of `Date`, 2001, in microseconds since 1970.
  private static let referenceDate: Int64 = 978_307_200_000_000

  /// The greatest distance from 2001 that a stored date can have, in microseconds: 146 000 years. A
  /// power of two, so that it is the same number as a `Double`.
  private static let limit = 0x1p62

  /// The date in microseconds since 1970, rounded so that the date read back is never later than
  /// this one. A date that is too far away, or not a number, is clamped.
  package var microsecondsSince1970: Int64 {
    // Not since 1970: adding the distance to a Double would round first.
    let seconds = self.timeIntervalSinceReferenceDate
    guard seconds > -Self.limit / 1e6 else { return Self.referenceDate - Int64(Self.limit) }
    guard seconds < Self.limit / 1e6 else { return Self.referenceDate + Int64(Self.limit) }
    var microseconds = (seconds * 1e6).rounded(.down)
    // The product was rounded. The result is the last number whose date is not later, so that a
    // date read back is stored as the same number again.
    let step = max(1, microseconds.ulp)
    while microseconds / 1e6 > seconds { microseconds -= step }
    while (microseconds + step) / 1e6 <= seconds { microseconds += step }
    return Self.referenceDate + Int64(microseconds)
  }

  /// Makes a date of its stored form.
  ///
  /// - Parameter microseconds: Microseconds since 1970, any number.
  package init(microsecondsSince1970 microseconds: Int64) {
    let (difference, isTooEarly) = microseconds.subtractingReportingOverflow(Self.referenceDate)
    self.init(
      timeIntervalSinceReferenceDate: Double(isTooEarly ? .min : difference) / 1e6)
  }
}
