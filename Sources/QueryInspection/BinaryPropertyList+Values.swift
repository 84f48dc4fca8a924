import FoundationEssentials

extension BinaryPropertyList {
  /// A part of a list.
  enum Value {
    case boolean(Bool)
    case integer(Int128)
    case real(Double)
    case date(Date)
    case data(Data)
    case string(String)
    case array([Int])
    case dictionary(keys: [Int], values: [Int])
  }

  /// The value of a part; nil if it is damaged, or of another kind.
  func value(of part: Int) -> Value? {
    guard let start = self.start(of: part) else { return nil }
    let marker = self.bytes[start]
    switch marker & 0xf0 {
    case 0x00: return marker == 0x08 ? .boolean(false) : marker == 0x09 ? .boolean(true) : nil
    case 0x10: return self.integer(start)
    case 0x20: return self.real(start).map { .real($0) }
    case 0x30:
      guard marker == 0x33, let seconds = self.real(start), abs(seconds) < 1e11 else { return nil }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case 0x40: return self.content(start, ofSize: 1).map { .data(Data(self.bytes[$0])) }
    case 0x50:
      guard let range = self.content(start, ofSize: 1),
        self.bytes[range].allSatisfy({ $0 < 0x80 })
      else { return nil }
      return .string(String(decoding: self.bytes[range], as: UTF8.self))
    case 0x60: return self.content(start, ofSize: 2).map { .string(self.wideText($0)) }
    case 0xa0: return self.children(of: part).map { .array($0) }
    case 0xd0:
      guard let children = self.children(of: part) else { return nil }
      let half = children.count / 2
      return .dictionary(keys: Array(children[..<half]), values: Array(children[half...]))
    default: return nil
    }
  }

  /// The bytes of a number of 2 to the power of the marker's digit.
  private func number(_ start: Int) -> ArraySlice<UInt8>? {
    let digit = Int(self.bytes[start] & 0xf)
    guard digit <= 4, start + 1 + 1 << digit <= self.bytes.count else { return nil }
    return self.bytes[(start + 1)..<(start + 1 + 1 << digit)]
  }

  private func integer(_ start: Int) -> Value? {
    guard let bytes = self.number(start) else { return nil }
    let bits = bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
    // One of eight bytes or more has a sign, shorter ones have none.
    if bytes.count == 8 { return .integer(Int128(Int64(truncatingIfNeeded: bits))) }
    return .integer(Int128(truncatingIfNeeded: bits))
  }

  private func real(_ start: Int) -> Double? {
    guard let bytes = self.number(start) else { return nil }
    let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    switch bytes.count {
    case 4: return Double(Float(bitPattern: UInt32(bits)))
    case 8: return Double(bitPattern: bits)
    default: return nil
    }
  }

  /// Where the content of a part is that begins with its length.
  private func content(_ start: Int, ofSize size: Int) -> Range<Int>? {
    guard let (place, length) = self.length(start),
      length <= (self.bytes.count - place) / size
    else { return nil }
    return place..<(place + length * size)
  }

  private func wideText(_ range: Range<Int>) -> String {
    let units = stride(from: range.lowerBound, to: range.upperBound, by: 2)
      .map { UInt16(self.bytes[$0]) << 8 | UInt16(self.bytes[$0 + 1]) }
    return String(decoding: units, as: UTF16.self)
  }
}
