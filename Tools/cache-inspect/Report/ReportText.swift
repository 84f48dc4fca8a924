/// Makes texts of a store, which may hold anything, safe and visible in a page.
enum ReportText {
  /// How many characters of a text the page carries; what follows is counted.
  static let maximumCharacters = 2_000

  /// A text as HTML, for an element's content: nothing in it is markup, and characters that are
  /// invisible, or change the direction of those around them, appear as marked escapes.
  static func html(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if let escape = self.escape(for: scalar) {
        result += "<span class=\"escape\">\(escape)</span>"
      } else {
        result += self.entity(for: scalar) ?? String(scalar)
      }
    }
    return result
  }

  /// A text as a part of JSON within a `script` element, which no character in it can end.
  ///
  /// - Parameter json: JSON. The replaced characters can occur only in its strings.
  static func scriptData(_ json: String) -> String {
    var result = ""
    for scalar in json.unicodeScalars {
      switch scalar {
      case "<", ">", "&", "\u{2028}", "\u{2029}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// A text that is no longer than ``maximumCharacters``, and says how much was cut off.
  static func shortened(_ text: String) -> String {
    let scalars = text.unicodeScalars
    // Scalars, not characters: one character may have a million combining marks.
    guard
      let end = scalars.index(
        scalars.startIndex, offsetBy: self.maximumCharacters, limitedBy: scalars.endIndex),
      end < scalars.endIndex
    else { return text }
    let rest = scalars.distance(from: end, to: scalars.endIndex)
    return "\(String(scalars[..<end]))… (\(ReportMeasure.count(rest)) more characters)"
  }

  /// The entity of a character that markup is made of; nil for any other.
  private static func entity(for scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "&": "&amp;"
    case "<": "&lt;"
    case ">": "&gt;"
    case "\"": "&quot;"
    case "'": "&#39;"
    default: nil
    }
  }

  /// The escape of a control or format character; nil for any other. The joiners are left, since
  /// scripts and emoji are written with them. The page's script has the same rule.
  private static func escape(for scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "\n": return "\\n"
    case "\r": return "\\r"
    case "\t": return "\\t"
    case "\u{200C}", "\u{200D}": return nil
    default: break
    }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator:
      return "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
    default: return nil
    }
  }
}
