package import FoundationEssentials

/// A date of HTTP in one of the three forms that a recipient takes (RFC 9110, 5.6.7): that of today,
/// `Sun, 06 Nov 1994 08:49:37 GMT`, that of RFC 850, `Sunday, 06-Nov-94 08:49:37 GMT`, and that of `asctime`,
/// `Sun Nov  6 08:49:37 1994`.
///
/// It is read by hand: Foundation's formatter comes with ICU, which a program that shows no dates
/// need not load.
package enum HTTPDate {
  private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let longWeekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The date that a text says; nil if it says none.
  ///
  /// - Parameters:
  ///   - text: The text, without spaces around it.
  ///   - now: A year of two digits that lies more than 50 years after this is one of the past.
  package static func parse(_ text: String, now: Date = Date()) -> Date? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    switch words.count {
    case 6 where words[5] == "GMT":
      guard Self.weekdays.contains(where: { words[0] == "\($0)," }) else { return nil }
      return Self.date(
        Self.number(words[1], digits: 2), words[2], Self.number(words[3], digits: 4), words[4])
    case 4 where words[3] == "GMT":
      let parts = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
      guard Self.longWeekdays.contains(where: { words[0] == "\($0)," }), parts.count == 3,
        let year = Self.number(parts[2], digits: 2).map({ $0 + 2_000 })
      else { return nil }
      let time = { Self.date(Self.number(parts[0], digits: 2), parts[1], $0, words[2]) }
      guard let date = time(year) else { return time(year - 100) }
      return date.timeIntervalSince(now) > Self.fiftyYears ? time(year - 100) : date
    case 5:
      guard Self.weekdays.contains(words[0]) else { return nil }
      return Self.date(
        Self.number(words[2], digits: 2), words[1], Self.number(words[4], digits: 4), words[3])
    case 6 where words[2].isEmpty:
      guard Self.weekdays.contains(words[0]) else { return nil }
      return Self.date(
        Self.number(words[3], digits: 1), words[1], Self.number(words[5], digits: 4), words[4])
    default: return nil
    }
  }

  private static let fiftyYears: TimeInterval = 50 * 365.25 * 86_400

  private static func date(_ day: Int?, _ month: String, _ year: Int?, _ time: String) -> Date? {
    guard let day, let month = Self.months.firstIndex(of: month), let year,
      let second = Self.secondOfDay(time), (1...Self.days(in: month, of: year)).contains(day)
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
