package import FoundationEssentials

/// Prints moments in the time zone of the user, or in UTC.
package struct DateText: Sendable {
  private let style: Date.ISO8601FormatStyle

  /// - Parameter isUTC: Whether it is UTC.
  package init(isUTC: Bool) { self.init(isUTC ? .gmt : .current) }

  /// - Parameter zone: The time zone.
  package init(_ zone: TimeZone) {
    self.style = Date.ISO8601FormatStyle(
      dateSeparator: .dash, dateTimeSeparator: .standard, timeSeparator: .colon,
      timeZoneSeparator: .colon, includingFractionalSeconds: false, timeZone: zone)
  }

  /// A moment to the second, with the offset of its zone, as `2026-03-01T12:00:00+01:00`.
  package func text(_ date: Date) -> String { self.style.format(date) }

  /// A moment to the microsecond in UTC, as `2026-03-01T11:00:00.123456Z`: what JSON has. One outside of
  /// the years 1 to 9999, which no calendar text can represent, is the number of its microseconds since
  /// 1970, as `9000000000000000000 µs`.
  package static func exact(_ date: Date) -> String {
    let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
    guard (-62_135_596_800e6..<253_402_300_800e6).contains(microseconds) else {
      return "\(Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)) µs"
    }
    let (seconds, fraction) = Self.divide(Int64(microseconds))
    let whole = DateText(.gmt).text(Date(timeIntervalSince1970: Double(seconds)))
    let digits = String(1_000_000 + fraction).dropFirst()
    return "\(whole.dropLast()).\(digits)Z"
  }

  private static func divide(_ microseconds: Int64) -> (seconds: Int64, fraction: Int64) {
    let remainder = microseconds % 1_000_000
    let fraction = remainder < 0 ? remainder + 1_000_000 : remainder
    return ((microseconds - fraction) / 1_000_000, fraction)
  }
}
