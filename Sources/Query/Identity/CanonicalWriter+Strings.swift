extension CanonicalWriter {
  /// Writes a string in NFC, with the escapes of RFC 8785.
  func writeString(_ string: String) {
    var string = string
    let isNormal = string.withUTF8 { utf8 in
      let isNormal = Self.isCertainlyNormal(utf8)
      if isNormal { self.writeQuoted(utf8) }
      return isNormal
    }
    if !isNormal {
      Self.normalized(string).withUnsafeBufferPointer { self.writeQuoted($0) }
    }
  }

  /// The UTF-8 of a string in NFC.
  static func normalized(_ string: String) -> [UInt8] { Array(string.canonicallyComposed.utf8) }

  /// Whether all scalars come before U+0300, the first that combines with another. It begins with
  /// the byte 0xCC, as do all up to U+033F; every later scalar begins with a greater byte.
  private static func isCertainlyNormal(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    utf8.allSatisfy { $0 < 0xCC }
  }

  /// Writes UTF-8 as a JSON string, with the escapes of RFC 8785, section 3.2.2.2: the short ones
  /// if JSON has them, `\u00xx` in lower case for the other control characters, and no others.
  func writeQuoted(_ utf8: UnsafeBufferPointer<UInt8>) {
    self.append(ascii: "\"")
    var start = 0
    for (index, byte) in utf8.enumerated() where Self.isEscaped(byte) {
      self.bytes += UnsafeBufferPointer(rebasing: utf8[start..<index])
      self.writeEscape(byte)
      start = index + 1
    }
    self.bytes += UnsafeBufferPointer(rebasing: utf8[start...])
    self.append(ascii: "\"")
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private func writeEscape(_ byte: UInt8) {
    self.append(ascii: "\\")
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): self.bytes.append(byte)
    case 0x08: self.append(ascii: "b")
    case 0x09: self.append(ascii: "t")
    case 0x0A: self.append(ascii: "n")
    case 0x0C: self.append(ascii: "f")
    case 0x0D: self.append(ascii: "r")
    default:
      self.append("u00")
      self.bytes.append(UInt8(hexDigit: byte >> 4))
      self.bytes.append(UInt8(hexDigit: byte & 0xF))
    }
  }
}
