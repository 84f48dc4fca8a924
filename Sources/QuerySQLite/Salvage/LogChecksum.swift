/// The checksum of a WAL: that of its header, and of each frame with all that is before it.
struct LogChecksum: Hashable {
  var first: UInt32 = 0
  var second: UInt32 = 0

  /// The same with more words.
  ///
  /// - Parameters:
  ///   - words: Where the words of four bytes are, an even number of them.
  ///   - bytes: The bytes.
  ///   - isBigEndian: How the log says that its words are to be read.
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

  /// Whether this one differs from another in one bit alone.
  func isOneBit(from other: LogChecksum) -> Bool {
    (self.first ^ other.first).nonzeroBitCount + (self.second ^ other.second).nonzeroBitCount == 1
  }
}

/// Where the words are that a checksum is made of: some of a header, then those of a page.
struct LogWords {
  /// Where those of the header begin, and how many there are.
  let start: Int
  let headerCount: Int
  /// Where those of the page begin.
  var pageStart = 0
  var pageCount = 0

  var count: Int { self.headerCount + self.pageCount }

  func offset(of index: Int) -> Int {
    index < self.headerCount
      ? self.start + 4 * index : self.pageStart + 4 * (index - self.headerCount)
  }
}

extension LogWords {
  /// Finds the one bit that was flipped, if one was: the checksum is a sum, so what a bit adds to it is
  /// known. The high bits of some words add the same; that other damage looks like one bit hardly happens.
  ///
  /// - Parameters:
  ///   - bytes: The bytes as they are.
  ///   - sum: Their checksum.
  ///   - right: What it ought to be.
  ///   - isBigEndian: How words are read.
  /// - Returns: Each place where it may be: the offset of a byte, and what it is to be combined with by
  ///   exclusive or.
  func flippedBits(
    in bytes: [UInt8], _ sum: LogChecksum, right: LogChecksum, isBigEndian: Bool
  ) -> [(offset: Int, mask: UInt8)] {
    var found = [(offset: Int, mask: UInt8)]()
    let wanted = LogChecksum(
      first: right.first &- sum.first, second: right.second &- sum.second)
    // What 1 more in the first word of a pair adds to the checksum, and 1 more in the second.
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
