/// The checksum of a WAL: that of its header, and of each frame together with everything before it.
struct LogChecksum: Hashable {
  var first: UInt32 = 0
  var second: UInt32 = 0

  /// This checksum continued over more words.
  ///
  /// - Parameters:
  ///   - words: The offsets of the four-byte words, an even number of them.
  ///   - bytes: The bytes.
  ///   - isBigEndian: The byte order of the words, from the WAL's header.
  func adding(_ words: LogWords, of bytes: [UInt8], isBigEndian: Bool) -> LogChecksum {
    var sum = self
    bytes.withUnsafeBytes { bytes in
      for index in stride(from: 0, to: words.count, by: 2) {
        let one = bytes.loadUnaligned(fromByteOffset: words.offset(of: index), as: UInt32.self)
        let two = bytes.loadUnaligned(fromByteOffset: words.offset(of: index + 1), as: UInt32.self)
        sum.first &+= (isBigEndian ? one.bigEndian : one.littleEndian) &+ sum.second
        sum.second &+= (isBigEndian ? two.bigEndian : two.littleEndian) &+ sum.first
      }
    }
    return sum
  }

  /// Whether this one differs from another in exactly one bit.
  func isOneBit(from other: LogChecksum) -> Bool {
    (self.first ^ other.first).nonzeroBitCount + (self.second ^ other.second).nonzeroBitCount == 1
  }
}

/// Where the words of a checksum are: some of a header, then those of a page.
struct LogWords {
  /// Where the header's words begin, and how many there are.
  let start: Int
  let headerCount: Int
  /// Where the page's words begin.
  var pageStart = 0
  var pageCount = 0

  var count: Int { self.headerCount + self.pageCount }

  func offset(of index: Int) -> Int {
    index < self.headerCount
      ? self.start + 4 * index : self.pageStart + 4 * (index - self.headerCount)
  }
}

extension LogWords {
  /// Finds the flipped bit if exactly one was flipped: the checksum is a sum, so each bit's
  /// contribution is known. The high bits of some words contribute the same; other damage hardly
  /// ever looks like a single bit.
  ///
  /// - Parameters:
  ///   - bytes: The bytes as they are.
  ///   - sum: Their checksum.
  ///   - right: The checksum that they ought to have.
  ///   - isBigEndian: The byte order of the words.
  /// - Returns: Each candidate: the offset of a byte, and the mask to combine it with by exclusive
  ///   or.
  func flippedBits(
    in bytes: [UInt8], _ sum: LogChecksum, right: LogChecksum, isBigEndian: Bool
  ) -> [(offset: Int, mask: UInt8)] {
    var found = [(offset: Int, mask: UInt8)]()
    let wanted = LogChecksum(
      first: right.first &- sum.first, second: right.second &- sum.second)
    // What adding 1 to the first word of a pair adds to the checksum, and 1 to the second.
    var one: (UInt32, UInt32) = (1, 1)
    var two: (UInt32, UInt32) = (0, 1)
    for index in stride(from: self.count - 2, through: 0, by: -2) {
      for (word, effect) in [(index, one), (index + 1, two)] {
        let offset = self.offset(of: word)
        for bit in 0..<32 {
          let place = isBigEndian ? offset + 3 - bit / 8 : offset + bit / 8
          let mask = UInt8(1) << UInt8(bit % 8)
          let change = UInt32(1) << UInt32(bit)
          let isSet = bytes[place] & mask != 0
          let delta = isSet ? 0 &- change : change
          if delta &* effect.0 == wanted.first, delta &* effect.1 == wanted.second {
            found.append((place, mask))
          }
        }
      }
      one = (one.0 &+ one.1, one.0 &+ 2 &* one.1)
      two = (two.0 &+ two.1, two.0 &+ 2 &* two.1)
    }
    return found
  }
}
