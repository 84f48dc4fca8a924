import Glibc

/// Numbers with so many digits behind the point, as `printf` rounds them: `String(format:)` would bring
/// all of Foundation with it.
package enum FixedPoint {
  /// A number as text, as `12.30` for two digits.
  ///
  /// - Parameters:
  ///   - number: The number.
  ///   - decimals: How many digits are behind the point.
  package static func text(_ number: Double, decimals: Int) -> String {
    // The longest number has 309 digits before the point.
    var bytes = [CChar](repeating: 0, count: 352 + max(decimals, 0))
    let count = withVaList([Int32(clamping: decimals), number]) {
      vsnprintf(&bytes, bytes.count, "%.*f", $0)
    }
    return String(decoding: bytes.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
