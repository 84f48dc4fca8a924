/// Makes text of a store safe for a terminal: what would move the cursor, hide, or turn text around
/// is shown as what it is.
package enum SafeText {
  /// A text with control characters (C0, DEL, C1), line separators, marks that change the direction
  /// of writing, and tags as visible escapes, as `\n`, `\x1b`, `\u{202e}`.
  package static func escape(_ text: String) -> String {
    // Most texts have no unsafe character.
    guard text.unicodeScalars.contains(where: Self.isUnsafe) else { return text }
    var result = ""
    for scalar in text.unicodeScalars { Self.append(scalar, to: &result) }
    return result
  }

  /// Bytes as text, as ``escape(_:)-(String)``; those that are no UTF-8 as `\x80`.
  package static func escape(bytes: some Sequence<UInt8>) -> String {
    var result = ""
    var decoder = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    var pending = [UInt8]()
    // What the parser has read since the last scalar, shown as bytes if it is not a valid scalar.
    func take() -> [UInt8] {
      defer { pending.removeAll() }
      return pending
    }
    while true {
      var recorder = RecordingIterator(base: iterator)
      let parsed = decoder.parseScalar(from: &recorder)
      iterator = recorder.base
      pending += recorder.bytes
      switch parsed {
      case .valid(let encoded):
        Self.append(Unicode.UTF8.decode(encoded), to: &result)
        pending.removeFirst(min(encoded.count, pending.count))
      case .error(let length):
        for byte in pending.prefix(length) { result += Self.hex(byte) }
        pending.removeFirst(min(length, pending.count))
      case .emptyInput:
        for byte in take() { result += Self.hex(byte) }
        return result
      }
    }
  }

  /// Whether a scalar is not printed as it is.
  package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7f..<0xa0: true
    case 0x061c, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfeff: true
    case 0xe0000...0xe007f: true
    default: false
    }
  }

  private static func append(_ scalar: Unicode.Scalar, to result: inout String) {
    guard Self.isUnsafe(scalar) else {
      result.unicodeScalars.append(scalar)
      return
    }
    switch scalar {
    case "\n": result += "\\n"
    case "\t": result += "\\t"
    case "\r": result += "\\r"
    case _ where scalar.value < 0x80: result += Self.hex(UInt8(scalar.value))
    default: result += "\\u{\(String(scalar.value, radix: 16))}"
    }
  }

  private static func hex(_ byte: UInt8) -> String {
    "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }
}

/// Hands bytes on, and keeps them.
private struct RecordingIterator<Base: IteratorProtocol<UInt8>>: IteratorProtocol {
  var base: Base
  var bytes = [UInt8]()

  mutating func next() -> UInt8? {
    let byte = self.base.next()
    if let byte { self.bytes.append(byte) }
    return byte
  }
}
