/// Lengths of time as people type them: a sum of numbers with units, as `30s`, `5min` or `1h30min`.
package enum DurationText {
  private static let units: [(name: String, length: Duration)] = [
    ("ms", .milliseconds(1)), ("s", .seconds(1)), ("sec", .seconds(1)), ("m", .seconds(60)),
    ("min", .seconds(60)), ("h", .seconds(3_600)), ("d", .seconds(86_400)),
  ]

  /// What a message says of the form.
  static let example = "such as 30s, 5min or 1h"

  /// The duration that a text states; nil if it states none, or more than a hundred years.
  package static func parse(_ text: String) -> Duration? {
    var rest = text.unicodeScalars[...]
    var total = Duration.zero
    guard !rest.isEmpty else { return nil }
    while !rest.isEmpty {
      let digits = rest.prefix { ("0"..."9").contains($0) }
      rest = rest.dropFirst(digits.count)
      let letters = rest.prefix { ("a"..."z").contains($0) }
      rest = rest.dropFirst(letters.count)
      let unit = Self.units.first { $0.name == String(letters) }
      guard !digits.isEmpty, digits.count <= 12, let number = Int(String(digits)), let unit
      else { return nil }
      let limit = Duration.seconds(100 * 366 * 86_400)
      guard Double(number) * (unit.length / .seconds(1)) <= limit / .seconds(1) else { return nil }
      total += unit.length * number
      guard total <= limit else { return nil }
    }
    return total
  }
}
