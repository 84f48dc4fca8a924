import FoundationEssentials

/// The idempotency key of a mutation. The text of an identifier, which most keys are, is kept in 16 bytes.
enum CompactKey: Hashable, Sendable {
  case identifier(UUID)
  case text(String)

  init(_ text: String) { self = Self.identifier(in: text).map(Self.identifier) ?? .text(text) }

  var text: String {
    switch self {
    case .identifier(let id): id.uuidString
    case .text(let text): text
    }
  }

  /// The identifier whose `uuidString` this is; nil: that of none. Foundation's own parsing takes some
  /// microseconds, and lower case.
  private static func identifier(in text: String) -> UUID? {
    var text = text
    var id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)).uuid
    let isIdentifier = text.withUTF8 { characters in
      withUnsafeMutableBytes(of: &id) { Self.parse(characters, into: $0) }
    }
    return isIdentifier ? UUID(uuid: id) : nil
  }

  /// - Returns: Whether the characters are those of an identifier.
  private static func parse(
    _ characters: UnsafeBufferPointer<UInt8>, into bytes: UnsafeMutableRawBufferPointer
  ) -> Bool {
    guard characters.count == 36 else { return false }
    var place = 0
    for index in 0..<36 {
      let character = characters[index]
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard character == UInt8(ascii: "-") else { return false }
        continue
      }
      let digit: UInt8
      switch character {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = character - UInt8(ascii: "A") + 10
      default: return false
      }
      bytes[place / 2] = bytes[place / 2] << 4 | digit
      place += 1
    }
    return true
  }
}
