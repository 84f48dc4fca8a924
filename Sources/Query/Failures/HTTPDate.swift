package import FoundationEssentials

/// A date in the preferred form of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
///
/// It is read by hand: Foundation's formatter comes with ICU, which a program that shows no dates
/// need not load.
package enum HTTPDate {
  private static let weekdays: Set = ["Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sun,"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The date that a text says; nil if it says none.
  package static func parse(_ text: String) -> Date? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 6, parts[5] == "GMT", Self.weekdays.contains(parts[0]),
      let day = Self.number(parts[1], digits: 2), let month = Self.months.firstIndex(of: parts[2]),
      let year = Self.number(parts[3], digits: 4), let second = Self.secondOfDay(parts[4]),
      (1...Self.days(in: month, of: year)).contains(day)
    else { return nil }
    let days =
      Self.days(before: year) - Self.days(before: 1970)
      + (0..<month).reduce(day - 1) { $0 + Self.days(in: $1, of: year) }
    return Date(timeIntervalSince1970: Double(days * 86_400 + second))
  }

  private static func secondOfDay(_ text: String) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let time = parts.compactMap { Self.number(String($0), digits: 2) }
    // The last second of a day may be a leap second.
    guard parts.count == 3, time.count == 3, time[0] < 24, time[1] < 60, time[2] <= 60 else {
      return nil
    }
    return time[0] * 3_600 + time[1] * 60 + time[2]
  }

  /// A number of so many digits.
  private static func number(_ text: String, digits: Int) -> Int? {
    let isNumber = text.utf8.count == digits && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    return isNumber ? Int(text) : nil
  }

  /// How many days a month has. January is 0.
  private static func days(in month: Int, of year: Int) -> Int {
    // The other months have 337.
    if month == 1 { return Self.days(before: year + 1) - Self.days(before: year) - 337 }
    return [3, 5, 8, 10].contains(month) ? 30 : 31
  }

  /// How many days all years before one have.
  private static func days(before year: Int) -> Int {
    let past = year - 1
    return past * 365 + past / 4 - past / 100 + past / 400
  }
}
