import FoundationEssentials
import ToolSupport

/// Numbers as the page's own parts show them; the page's script has the same forms for the tables.
enum ReportMeasure {
  /// A number with commas between its thousands: `12,345`.
  static func count(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var result = number < 0 ? "−" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { result += "," }
      result.append(digit)
    }
    return result
  }

  /// A number and what it counts: `1 entry`, `12 entries`.
  static func count(_ number: Int, _ one: String, _ many: String) -> String {
    "\(self.count(number)) \(number == 1 ? one : many)"
  }

  /// A size in bytes: `512 B`, `3.2 KiB`, `256 MiB`.
  static func size(_ bytes: Int) -> String {
    var value = Double(bytes)
    var unit = 0
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    // What would be rounded to 1024 already has the next unit.
    while abs(value) >= 1_023.5, unit < units.count - 1 {
      value /= 1_024
      unit += 1
    }
    if unit == 0 { return "\(bytes) B" }
    // Rounded here, as the page's script does, since formats round a half otherwise.
    let places = abs(value) >= 99.95 ? 1.0 : 10.0
    let rounded = (value * places).rounded() / places
    let isWhole = rounded == rounded.rounded()
    return FixedPoint.text(rounded, decimals: isWhole ? 0 : 1) + " " + units[unit]
  }

  /// A part of a whole as an attribute of SVG: `37.5%`. `0%` if the whole is zero.
  static func percent(_ part: Double, of whole: Double) -> String {
    guard whole > 0, part.isFinite else { return "0%" }
    return FixedPoint.text(min(max(part / whole, 0), 1) * 100, decimals: 2) + "%"
  }
}
