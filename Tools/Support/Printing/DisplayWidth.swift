/// How many columns of a terminal text takes.
package enum DisplayWidth {
  /// The columns of a text without control characters.
  package static func of(_ text: String) -> Int {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    return text.reduce(0) { $0 + Self.of($1) }
  }

  /// The columns of a character: 0, 1 or 2.
  package static func of(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    if first.value < 0x80 && character.unicodeScalars.count == 1 { return 1 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    let asksForEmoji = character.unicodeScalars.contains { $0.value == 0xfe0f }
    return Self.isWide(first) || asksForEmoji ? 2 : 1
  }

  /// The beginning of a text that fits, with `…` in place of the rest.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - width: The columns that there are, 1 or more.
  package static func truncate(_ text: String, to width: Int) -> String {
    guard Self.of(text) > width else { return text }
    var result = ""
    var used = 0
    for character in text {
      let columns = Self.of(character)
      if used + columns > width - 1 { break }
      result.append(character)
      used += columns
    }
    return result + "…"
  }

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.properties.isEmojiPresentation { return true }
    switch scalar.value {
    case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0x9fff,
      0xa000...0xa4cf, 0xa960...0xa97f, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f,
      0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1f64f, 0x1f900...0x1f9ff,
      0x20000...0x3fffd:
      return true
    default: return false
    }
  }
}
