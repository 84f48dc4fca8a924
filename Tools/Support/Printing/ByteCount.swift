import FoundationEssentials

/// Amounts of bytes for people.
package enum ByteCount {
  private static let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

  /// An amount with three digits at most, as `17 B`, `3.2 KiB`, `640 MiB`.
  package static func text(_ bytes: Int) -> String {
    guard bytes.magnitude >= 1_024 else { return "\(bytes) B" }
    var amount = Double(bytes.magnitude)
    var unit = -1
    // Not 1024 KiB after rounding.
    while unit < 0 || amount >= 1_023.5, unit + 1 < Self.units.count {
      amount /= 1_024
      unit += 1
    }
    let isRound = amount >= 99.95
    let number = isRound ? String(Int(amount.rounded())) : Self.oneDigit(amount)
    return "\(bytes < 0 ? "-" : "")\(number) \(Self.units[unit])"
  }

  private static func oneDigit(_ amount: Double) -> String {
    let tenths = Int((amount * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
