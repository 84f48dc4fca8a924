import Query

/// A WAL that no connection has open, frame by frame.
///
/// SQLite ends a WAL at the first incomplete frame, and reports nothing of those behind it: after a
/// power cut that is right, but after a flipped bit it discards committed transactions. Here each
/// frame is examined by itself, since its checksum follows from that of the frame before it, and a
/// single flipped bit is found and mended.
struct LogImage {
  /// The condition of a frame.
  enum State {
    case whole
    /// One bit was flipped. It is mended here if it could be located; otherwise it was not in the
    /// page's number.
    case mended
    /// One bit was flipped, which may be in the page's number.
    case flipped
    /// Its bytes are not those that were written, or not all of them.
    case broken
    /// Left from before the WAL was restarted, or never written.
    case foreign
  }

  /// A page as a transaction wrote it.
  struct Frame {
    let page: Int
    /// The database's page count as of this frame, if it is the last of its transaction; else 0.
    let commitSize: Int
    /// Where the page begins in ``bytes``.
    let offset: Int
    let state: State
  }

  /// The bytes of the file, with flipped bits mended.
  private(set) var bytes: [UInt8]

  /// The size of a page.
  let pageSize: Int

  /// All frames.
  private(set) var frames = [Frame]()

  /// Whether the process that closed the database invalidated the header: the file has all that the
  /// WAL has.
  let isIdle: Bool

  /// How many frames SQLite reads; the last of them ends a transaction.
  private(set) var validCount = 0

  /// How many frames belong to committed transactions.
  private(set) var committedCount = 0

  /// Whether there are committed transactions behind a damaged frame, which SQLite would discard.
  private(set) var isDamaged = false

  private var header = Header()

  private struct Header {
    var isBigEndian = false
    var isMended = false
    var salts: (UInt32, UInt32) = (0, 0)
    /// nil if it cannot be relied on.
    var sum: LogChecksum?
  }

  private static let headerCount = 32
  private static let frameHeaderCount = 24

  /// Reads a WAL.
  ///
  /// - Parameters:
  ///   - bytes: The bytes of the file.
  ///   - pageSize: The size of the database's pages, in case the WAL does not tell it.
  init(_ bytes: [UInt8], pageSize: Int) {
    self.bytes = bytes
    self.isIdle = bytes.prefix(Self.headerCount).filter { $0 == 0 }.count >= 24
    let header = self.isIdle ? nil : Self.header(mending: &self.bytes)
    self.pageSize = header == nil ? pageSize : Int(self.bytes.bigEndian32(at: 8))
    if let header { self.header = header } else { self.guessHeader() }
    self.readFrames()
    if !self.isIdle { self.findEnd() }
  }
}

// MARK: - Header

extension LogImage {
  /// Reads the header, and mends it if one bit was flipped.
  private static func header(mending bytes: inout [UInt8]) -> Header? {
    guard bytes.count >= Self.headerCount else { return nil }
    let words = LogWords(start: 0, headerCount: 6)
    let stored = LogChecksum(
      first: bytes.bigEndian32(at: 24), second: bytes.bigEndian32(at: 28))
    for isBigEndian in [false, true] {
      var header = Header(isBigEndian: isBigEndian)
      var candidates = [bytes]
      var sum = LogChecksum().adding(words, of: bytes, isBigEndian: isBigEndian)
      if sum != stored, !sum.isOneBit(from: stored) {
        let bits = words.flippedBits(in: bytes, sum, right: stored, isBigEndian: isBigEndian)
        candidates = bits.map { bit in
          var mended = bytes
          mended[bit.offset] ^= bit.mask
          return mended
        }
        sum = stored
      }
      let magic: UInt32 = isBigEndian ? 0x377f_0683 : 0x377f_0682
      let possible = candidates.filter { bytes in
        bytes.bigEndian32(at: 0) == magic && bytes.bigEndian32(at: 4) == 3_007_000
          && DatabaseImage.isPageSize(Int(bytes.bigEndian32(at: 8)))
      }
      // The first frame has the same salts.
      guard
        let mended = possible.first(where: { $0[16..<24] == $0.dropFirst(40).prefix(8) })
          ?? possible.first
      else { continue }
      header.isMended = mended != bytes || sum != stored
      header.salts = (mended.bigEndian32(at: 16), mended.bigEndian32(at: 20))
      header.sum = sum
      bytes = mended
      return header
    }
    return nil
  }

  /// Takes what the header does not tell from the first frame.
  private mutating func guessHeader() {
    let first = Self.headerCount
    self.header.salts = (
      self.bytes.bigEndian32(at: first + 8), self.bytes.bigEndian32(at: first + 12)
    )
  }
}

// MARK: - Frames

extension LogImage {
  private mutating func readFrames() {
    let size = Self.frameHeaderCount + self.pageSize
    var sum = self.header.sum
    var offset = Self.headerCount
    while offset + size <= self.bytes.count {
      let stored = LogChecksum(
        first: self.bytes.bigEndian32(at: offset + 16),
        second: self.bytes.bigEndian32(at: offset + 20))
      let (state, next) = self.state(at: offset, stored, after: sum)
      self.frames.append(
        Frame(
          page: self.bytes.pageNumber(at: offset),
          commitSize: self.bytes.pageNumber(at: offset + 4),
          offset: offset + Self.frameHeaderCount, state: state))
      sum = next
      offset += size
    }
  }

  /// - Returns: The frame's condition, and the checksum that the next one follows from.
  private mutating func state(
    at offset: Int, _ stored: LogChecksum, after sum: LogChecksum?
  ) -> (State, LogChecksum) {
    let salts = self.header.salts
    let flipped =
      (self.bytes.bigEndian32(at: offset + 8) ^ salts.0).nonzeroBitCount
      + (self.bytes.bigEndian32(at: offset + 12) ^ salts.1).nonzeroBitCount
    // Frames of an idle WAL are only examined if the file lacks something.
    if self.isIdle { return (.foreign, stored) }
    guard flipped <= 1 else { return (.foreign, stored) }
    guard let sum else { return (.broken, stored) }
    let words = LogWords(
      start: offset, headerCount: 2, pageStart: offset + Self.frameHeaderCount,
      pageCount: self.pageSize / 4)
    let isBigEndian = self.header.isBigEndian
    let found = sum.adding(words, of: self.bytes, isBigEndian: isBigEndian)
    if found == stored { return (flipped == 0 ? .whole : .mended, stored) }
    if flipped > 0 { return (.broken, stored) }
    // The bit may be in the checksum itself: then the next frame does not follow from the stored
    // one.
    let mayBeOfSum = found.isOneBit(from: stored) && !self.isFollowed(stored, at: offset)
    let bits = words.flippedBits(in: self.bytes, found, right: stored, isBigEndian: isBigEndian)
    if mayBeOfSum {
      return (bits.contains { $0.offset < offset + 8 } ? .flipped : .mended, found)
    }
    guard let bit = bits.first else { return (.broken, stored) }
    if bits.count > 1 {
      return (bits.contains { $0.offset < offset + 8 } ? .flipped : .mended, stored)
    }
    self.bytes[bit.offset] ^= bit.mask
    return (.mended, stored)
  }

  /// Whether the frame behind the one at an offset follows from a checksum.
  private func isFollowed(_ sum: LogChecksum, at offset: Int) -> Bool {
    let next = offset + Self.frameHeaderCount + self.pageSize
    guard next + Self.frameHeaderCount + self.pageSize <= self.bytes.count else { return false }
    let words = LogWords(
      start: next, headerCount: 2, pageStart: next + Self.frameHeaderCount,
      pageCount: self.pageSize / 4)
    let stored = LogChecksum(
      first: self.bytes.bigEndian32(at: next + 16), second: self.bytes.bigEndian32(at: next + 20))
    return sum.adding(words, of: self.bytes, isBigEndian: self.header.isBigEndian) == stored
  }

  /// Finds where the WAL ends, and whether something is damaged before that.
  ///
  /// A commit is on disk before the next one is written, so a power cut leaves at most one
  /// incomplete transaction, the last: it was not acknowledged, and SQLite is right to discard it. So is
  /// it where a commit's sync has failed: the next one begins in its place, and what is longer of it
  /// stays behind, at most one end of a transaction each time. Two of them that follow one another behind
  /// the first incomplete frame, or a flipped bit in a transaction that is complete but for that, mean that the
  /// disk has changed what was written. In an incomplete one a flipped bit means nothing: the sector that was
  /// there before may differ by one.
  private mutating func findEnd() {
    var sound = 0
    if !self.header.isMended, self.header.sum != nil {
      sound = self.frames.firstIndex { $0.state != .whole } ?? self.frames.count
    }
    self.validCount =
      (self.frames[..<sound].lastIndex { $0.commitSize > 0 }).map { $0 + 1 } ?? 0
    self.committedCount = self.validCount
    var last: Int?
    // The most that follow one another without a gap.
    var (commits, most) = (0, 0)
    var hasMendedCommit = self.header.isMended
    // Of the transaction so far.
    var (hasGap, hasFlippedBit) = (false, false)
    for index in self.frames.indices[sound...] {
      switch self.frames[index].state {
      case .broken, .foreign:
        commits = 0
        hasGap = true
        continue
      case .mended, .flipped: hasFlippedBit = true
      case .whole: break
      }
      guard self.frames[index].commitSize > 0 else { continue }
      last = index
      commits += 1
      most = max(most, commits)
      if hasFlippedBit, !hasGap { hasMendedCommit = true }
      (hasGap, hasFlippedBit) = (false, false)
    }
    guard let last else { return }
    self.isDamaged = hasMendedCommit || most > 1
    if self.isDamaged { self.committedCount = last + 1 }
  }
}
