package import FoundationEssentials

/// Times as people say them: how long ago, and how long.
package enum Age {
  private static let units: [(name: String, seconds: Double)] = [
    ("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1),
  ]

  /// A moment relative to another one, as `4 min ago`, `in 3 s`, `now`.
  package static func text(of date: Date, at now: Date) -> String {
    let seconds = now.timeIntervalSince(date)
    guard abs(seconds) >= 1 else { return "now" }
    let length = Self.text(seconds: abs(seconds))
    return seconds > 0 ? "\(length) ago" : "in \(length)"
  }

  /// A length of time, as `250 ms`, `4 min`, `3 d`: whole units, rounded down.
  ///
  /// - Parameter seconds: The length, not negative.
  package static func text(seconds: Double) -> String {
    guard seconds.isFinite, seconds < 1e12 else { return "long" }
    for unit in Self.units where seconds >= unit.seconds {
      return "\(Int(seconds / unit.seconds)) \(unit.name)"
    }
    return "\(Int(max(0, seconds) * 1_000)) ms"
  }
}
