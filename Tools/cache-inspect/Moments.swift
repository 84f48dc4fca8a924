import FoundationEssentials
import ToolSupport

/// Dates of a store, which may be any number, as texts.
enum Moments {
  /// The years 1 to 9999, which a calendar can represent.
  private static let range = -62_135_596_800_000_000...253_402_300_799_999_999 as ClosedRange<Int64>

  /// The date; nil if no calendar has it.
  static func date(_ microseconds: Int64) -> Date? {
    guard Self.range.contains(microseconds) else { return nil }
    // Not divided as a whole: a Double has not the digits for it.
    let seconds = Double(microseconds / 1_000_000)
    return Date(timeIntervalSince1970: seconds) + Double(microseconds % 1_000_000) / 1e6
  }

  /// A date to the microsecond in UTC, for JSON; as its number if no calendar has it.
  static func exact(_ microseconds: Int64) -> String {
    Self.date(microseconds).map { DateText.exact($0) } ?? "\(microseconds) µs"
  }

  /// The same, or nil.
  static func exact(_ microseconds: Int64?) -> String? { microseconds.map { Self.exact($0) } }

  /// A date for people.
  static func text(_ microseconds: Int64?, _ dates: DateText) -> String {
    guard let microseconds else { return "-" }
    return Self.date(microseconds).map { dates.text($0) } ?? "\(microseconds) µs"
  }

  /// How long ago it is.
  static func age(_ microseconds: Int64?, _ now: Date) -> String {
    guard let microseconds else { return "-" }
    return Self.date(microseconds).map { Age.text(of: $0, at: now) } ?? "?"
  }

  /// A date with how long ago it is.
  static func both(_ microseconds: Int64?, _ invocation: Invocation) -> String {
    guard microseconds != nil else { return "-" }
    let age = Self.age(microseconds, invocation.now)
    return "\(Self.text(microseconds, invocation.dates)) (\(age))"
  }

  /// A date of the library in microseconds since 1970, which any number may be.
  static func microseconds(_ date: Date) -> Int64 {
    Int64(clampingOrZero: (date.timeIntervalSince1970 * 1e6).rounded())
  }
}

extension Int64 {
  /// The nearest integer; 0 for NaN.
  init(clampingOrZero value: Double) {
    self = value.isNaN ? 0 : Int64(exactly: value) ?? (value < 0 ? .min : .max)
  }
}
