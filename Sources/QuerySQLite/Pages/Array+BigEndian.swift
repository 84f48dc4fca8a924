extension [UInt8] {
  /// A big-endian number of two bytes; 0 if the bytes end before it does.
  func bigEndian16(at offset: Int) -> Int {
    guard offset >= 0, offset + 2 <= self.count else { return 0 }
    return Int(self[offset]) << 8 | Int(self[offset + 1])
  }

  /// A big-endian number of four bytes; 0 if the bytes end before it does.
  func bigEndian32(at offset: Int) -> UInt32 {
    guard offset >= 0, offset + 4 <= self.count else { return 0 }
    return UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16
      | UInt32(self[offset + 2]) << 8 | UInt32(self[offset + 3])
  }

  /// The page number at an offset.
  func pageNumber(at offset: Int) -> Int { Int(self.bigEndian32(at: offset)) }

  /// SQLite's varint of one to nine bytes.
  ///
  /// - Returns: The number and the offset behind it; nil if the bytes end before it does.
  func varint(at offset: Int, before end: Int) -> (value: Int64, end: Int)? {
    var value: UInt64 = 0
    var offset = offset
    let end = Swift.min(end, self.count)
    for index in 0..<9 {
      guard offset >= 0, offset < end else { return nil }
      let byte = UInt64(self[offset])
      offset += 1
      if index == 8 { return (Int64(bitPattern: value << 8 | byte), offset) }
      value = value << 7 | byte & 0x7f
      if byte & 0x80 == 0 { break }
    }
    return (Int64(bitPattern: value), offset)
  }
}
