import FoundationEssentials

/// A moment in a report: exact for programs, and as text for people.
struct ReportDate: Encodable, Sendable, Hashable {
  /// Seconds since 1970.
  let seconds: Double
  /// ISO 8601 to the second, with the offset of the zone: `2026-03-01T09:30:00+01:00`.
  let text: String
  /// The time zone of the text; not encoded.
  private let zone: TimeZone

  /// The encoded parts.
  private enum CodingKeys: CodingKey { case seconds, text }

  /// What four digits of a year can say in every zone. A store's clock may have been anywhere.
  private static let range = -62_135_510_400.0...253_402_128_000.0

  /// A moment. Outside the years 1 to 9999 the nearest valid one counts, for NaN 1970.
  ///
  /// - Parameters:
  ///   - date: The moment.
  ///   - zone: The zone of the text.
  init(_ date: Date, in zone: TimeZone) {
    let seconds = date.timeIntervalSince1970
    let bounded =
      seconds.isNaN ? 0 : min(max(seconds, Self.range.lowerBound), Self.range.upperBound)
    self.seconds = bounded
    self.zone = zone
    let style = Date.ISO8601FormatStyle(timeZoneSeparator: .colon, timeZone: zone)
    self.text = Date(timeIntervalSince1970: bounded).formatted(style)
  }

  /// The text without the offset and the letter between day and time.
  var plainText: String { String(self.text.prefix(19).map { $0 == "T" ? " " : $0 }) }

  /// Another moment in the same zone.
  ///
  /// - Parameter seconds: Since 1970.
  func moved(to seconds: Double) -> Self {
    Self(Date(timeIntervalSince1970: seconds), in: self.zone)
  }
}
