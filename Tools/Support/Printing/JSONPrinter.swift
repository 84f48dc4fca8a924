import FoundationEssentials

/// Prints values as JSON, one object a line, with keys in the order of the alphabet.
///
/// Dates are texts to the microsecond in UTC, data is Base64. Control characters, and marks that
/// change the direction of writing, are `\u` escapes of JSON.
package struct JSONPrinter {
  private let encoder: JSONEncoder

  /// - Parameter isPretty: Whether an object has a line for each key, for people.
  package init(isPretty: Bool = false) {
    self.encoder = JSONEncoder()
    self.encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isPretty { self.encoder.outputFormatting.insert(.prettyPrinted) }
    self.encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(DateText.exact(date))
    }
  }

  /// Prints a value and a line feed.
  ///
  /// - Throws: `EncodingError`, for a number that JSON cannot hold; as ``Output/line(_:)``.
  package func print(_ value: some Encodable, to output: Output) throws {
    try output.line(self.text(value))
  }

  /// A value as JSON.
  ///
  /// - Throws: `EncodingError`.
  package func text(_ value: some Encodable) throws -> String {
    let text = String(decoding: try self.encoder.encode(value), as: UTF8.self)
    let isLineFeed = { (scalar: Unicode.Scalar) in scalar == "\n" }
    guard text.unicodeScalars.contains(where: { SafeText.isUnsafe($0) && !isLineFeed($0) })
    else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      // A line feed here is the encoder's own: those of texts are already escaped.
      if SafeText.isUnsafe(scalar), !isLineFeed(scalar) {
        for unit in String(scalar).utf16 { result += Self.escape(unit) }
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func escape(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
