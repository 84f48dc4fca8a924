import Query

/// A value of a row, as stored in the file.
enum StoredValue: Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])
}

extension StoredValue {
  /// Decodes a record.
  ///
  /// - Returns: Its values; nil if the bytes are not a whole record.
  static func record(_ bytes: [UInt8], _ encoding: StoredEncoding = .utf8) -> [StoredValue]? {
    guard let head = bytes.varint(at: 0, before: bytes.count), head.value >= 1,
      head.value <= bytes.count
    else { return nil }
    let headerEnd = Int(head.value)
    var (place, body) = (head.end, headerEnd)
    var values = [StoredValue]()
    while place < headerEnd {
      guard let type = bytes.varint(at: place, before: headerEnd) else { return nil }
      place = type.end
      guard let count = Self.count(ofType: type.value), count <= bytes.count - body else {
        return nil
      }
      guard let value = Self.value(type.value, bytes, body..<body + count, encoding) else {
        return nil
      }
      values.append(value)
      body += count
    }
    return body == bytes.count ? values : nil
  }

  /// The length in bytes of a value of a serial type; nil if there is no such type.
  static func count(ofType type: Int64) -> Int? {
    switch type {
    case 0, 8, 9: 0
    case 1...4: Int(type)
    case 5: 6
    case 6, 7: 8
    case 12...Int64(Int32.max): Int((type - 12) / 2)
    default: nil
    }
  }

  private static func value(
    _ type: Int64, _ bytes: [UInt8], _ range: Range<Int>, _ encoding: StoredEncoding
  ) -> StoredValue? {
    switch type {
    case 0: return .null
    case 8, 9: return .integer(type - 8)
    case 1...6:
      var number: Int64 = bytes[range.lowerBound] & 0x80 == 0 ? 0 : -1
      for byte in bytes[range] { number = number << 8 | Int64(byte) }
      return .integer(number)
    case 7:
      let bits = bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return .real(Double(bitPattern: bits))
    default:
      if type % 2 == 0 { return .blob(Array(bytes[range])) }
      return .text(encoding.utf8(bytes[range]))
    }
  }
}

/// The encoding of a database's texts.
enum StoredEncoding {
  case utf8
  case utf16LittleEndian
  case utf16BigEndian

  /// A text as UTF-8.
  func utf8(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    if self == .utf8 { return Array(bytes) }
    let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map { index in
      let (one, two) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return self == .utf16LittleEndian ? two << 8 | one : one << 8 | two
    }
    return Array(String(decoding: units, as: UTF16.self).utf8)
  }
}
