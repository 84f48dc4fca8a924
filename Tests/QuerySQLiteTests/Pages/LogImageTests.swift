import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// A flipped bit of a log is found and mended, wherever it is.
@Suite struct LogImageTests {
  private let log: [UInt8]

  init() throws {
    let folder = try TemporaryFolder()
    let connection = try DatabaseOpener(.mutations, in: folder).openWriter()
    for number in 0..<4 {
      try connection.write { try connection.execute(OutboxPartitionRow.insert, "\(number)") }
    }
    self.log = Array(try Data(contentsOf: URL(filePath: "\(folder.path)/mutations.sqlite-wal")))
    try connection.close()
  }

  /// The log as a processor of the other byte order writes it, whose checksums are of other words.
  private var bigEndianLog: [UInt8] {
    var bytes = self.log
    var sum = LogChecksum()
    func put(_ numbers: [UInt32], at offset: Int) {
      let new = numbers.flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
      bytes.replaceSubrange(offset..<offset + new.count, with: new)
    }
    put([0x377f_0683], at: 0)
    sum = sum.adding(LogWords(start: 0, headerCount: 6), of: bytes, isBigEndian: true)
    put([sum.first, sum.second], at: 24)
    for frame in 0..<LogImage(self.log, pageSize: 4_096).validCount {
      let start = 32 + frame * 4_120
      let words = LogWords(start: start, headerCount: 2, pageStart: start + 24, pageCount: 1_024)
      sum = sum.adding(words, of: bytes, isBigEndian: true)
      put([sum.first, sum.second], at: start + 16)
    }
    return bytes
  }

  @Test func aLogThatIsWholeIsReadAsSQLiteDoes() {
    let image = LogImage(self.log, pageSize: 4_096)
    #expect(!image.isDamaged && !image.isIdle)
    #expect(image.validCount > 4)
    #expect(image.committedCount == image.validCount)
  }

  /// That a database begins in its log: nothing was copied into the file yet.
  @Test func theFirstPageIsReadFromTheLogToo() throws {
    let image = DatabaseImage(file: [], log: self.log)
    let page = try #require(image.current(1))
    let text = page.bytes[page.offset..<page.offset + 16]
    #expect(Array(text) == Array("SQLite format 3\u{0}".utf8))
    #expect(DatabaseImage(file: [], log: []).current(1) == nil)
  }

  /// Files of the kernel's are shorter than they say, as one is that was cut off while it was read.
  @Test(.enabled(if: access("/sys/kernel/fscaps", R_OK) == 0, "there is no /sys"))
  func aFileThatIsShorterThanItWasIsReadToItsEnd() throws {
    let read = try #require(try FileBytes.read("/sys/kernel/fscaps"))
    #expect(read.bytes.count > 16 && read.bytes[0] == UInt8(ascii: "1"))
    #expect(read.unreadable == 0)
  }

  /// The kernel has such a file, too: a loopback has no speed.
  @Test(.enabled(if: access("/sys/class/net/lo/speed", R_OK) == 0, "there is no /sys"))
  func whatCannotBeReadIsZerosAndCounted() throws {
    let read = try #require(try FileBytes.read("/sys/class/net/lo/speed"))
    #expect(read.bytes.count > 0 && read.bytes.allSatisfy { $0 == 0 })
    #expect(read.unreadable == read.bytes.count)
  }

  @Test func textsAreReadInTheirByteOrder() {
    let text = "Zoë 😀"
    for (encoding, order) in [(StoredEncoding.utf16LittleEndian, 0), (.utf16BigEndian, 1)] {
      let bytes = text.utf16.flatMap { unit -> [UInt8] in
        let pair = [UInt8(unit & 0xff), UInt8(unit >> 8)]
        return order == 0 ? pair : pair.reversed()
      }
      #expect(encoding.utf8(bytes[...]) == Array(text.utf8))
    }
    #expect(StoredEncoding.utf8.utf8(Array(text.utf8)[...]) == Array(text.utf8))
  }

  @Test(arguments: [false, true]) func aFlippedBitIsMended(isBigEndian: Bool) throws {
    let log = isBigEndian ? self.bigEndianLog : self.log
    let whole = LogImage(log, pageSize: 4_096)
    #expect(!whole.isDamaged && whole.validCount > 4)
    let end = 32 + whole.validCount * 4_120
    var generator = SeededGenerator(seed: 3)
    let places =
      Array(0..<56 * 8).shuffled(using: &generator).prefix(60)
      + (0..<60).map { _ in Int.random(in: 0..<end * 8, using: &generator) }
    for place in places {
      var bytes = log
      bytes[place / 8] ^= 1 << UInt8(place % 8)
      let image = LogImage(bytes, pageSize: 4_096)
      #expect(image.isDamaged, "bit \(place)")
      #expect(image.committedCount == whole.committedCount, "bit \(place)")
      for (mended, frame) in zip(image.frames.prefix(whole.validCount), whole.frames)
      where mended.state != .flipped {
        #expect(mended.page == frame.page, "bit \(place)")
        let range = frame.offset..<frame.offset + 4_096
        // The high bits of a word may be those of other words, too.
        let bit = isBigEndian ? place ^ 24 : place
        if bit % 32 < 20 { #expect(image.bytes[range] == whole.bytes[range], "bit \(place)") }
      }
    }
  }

  /// The last word of a page changes one bit of the checksum, as a bit of the checksum itself would: the frame
  /// behind it tells which of the two it was.
  @Test func aFlippedBitOfAPagesLastWordIsMendedThere() {
    let whole = LogImage(self.log, pageSize: 4_096)
    for frame in 0..<whole.validCount - 1 {
      let end = 32 + (frame + 1) * 4_120
      for bit in 0..<16 {
        var bytes = self.log
        bytes[end - 4 + bit / 8] ^= 1 << UInt8(bit % 8)
        let image = LogImage(bytes, pageSize: 4_096)
        #expect(image.isDamaged, "frame \(frame), bit \(bit)")
        #expect(image.committedCount == whole.committedCount, "frame \(frame), bit \(bit)")
        #expect(image.bytes[..<end] == whole.bytes[..<end], "frame \(frame), bit \(bit)")
      }
    }
  }

  @Test func whatIsCutOffIsNoDamage() {
    let whole = LogImage(self.log, pageSize: 4_096)
    for count in 0..<whole.validCount {
      let image = LogImage(Array(self.log[..<(32 + count * 4_120 + 100)]), pageSize: 4_096)
      #expect(!image.isDamaged)
      #expect(image.validCount <= count)
    }
  }

  /// Where the frames of each transaction are.
  private var transactions: [Range<Int>] {
    let frames = LogImage(self.log, pageSize: 4_096).frames
    var (all, start) = ([Range<Int>](), 0)
    for (index, frame) in frames.enumerated() where frame.state == .whole && frame.commitSize > 0 {
      all.append(start..<index + 1)
      start = index + 1
    }
    return all
  }

  private func flipBit(inFrame frame: Int, of bytes: inout [UInt8]) {
    bytes[32 + frame * 4_120 + 24 + 700] ^= 4
  }

  /// Of a commit that was not synced, some sectors may be on the disk and others not. What was there before
  /// may differ by one bit: the number of a page's earlier edition in the same place.
  @Test func aTornCommitWithOneFlippedBitIsNoDamage() throws {
    let transactions = self.transactions
    try #require(transactions.count > 4 && transactions.contains { $0.count > 2 })
    for (number, frames) in transactions.enumerated() where frames.count > 2 {
      for (flipped, broken) in [(0, 1), (1, 0), (0, frames.count - 1), (frames.count - 1, 0)] {
        var bytes = Array(self.log[..<(32 + frames.upperBound * 4_120)])
        self.flipBit(inFrame: frames.lowerBound + flipped, of: &bytes)
        let sector = 32 + (frames.lowerBound + broken) * 4_120 + 600
        for place in sector..<sector + 512 { bytes[place] = UInt8(truncatingIfNeeded: place) }
        // An expectation that fails prints what it names.
        let torn = LogImage(bytes, pageSize: 4_096)
        let (isDamaged, counts) = (torn.isDamaged, [torn.validCount, torn.committedCount])
        #expect(!isDamaged, "transaction \(number), \(flipped), \(broken)")
        #expect(counts == [frames.lowerBound, frames.lowerBound])
        guard let before = transactions[..<number].last else { continue }
        // Of one that was synced before it.
        self.flipBit(inFrame: before.lowerBound, of: &bytes)
        let isBeforeDamaged = LogImage(bytes, pageSize: 4_096).isDamaged
        #expect(isBeforeDamaged, "transaction \(number)")
      }
    }
  }

  /// A commit whose sync failed is in the log and was never acknowledged. The next one begins in its place,
  /// and what is longer of it stays behind: here of two, each shorter than the one before it.
  @Test func whatIsLeftOfRefusedCommitsIsNoDamage() throws {
    let base = try TemporaryFolder()
    let connection = try DatabaseOpener(.mutations, in: base).openWriter()
    try connection.write { try connection.execute(OutboxPartitionRow.insert, "first") }
    let logs = try [60, 20, 1].map { count in
      let folder = try TemporaryFolder()
      for name in ["mutations.sqlite", "mutations.sqlite-wal"] {
        try FileManager.default.copyItem(
          atPath: "\(base.path)/\(name)", toPath: "\(folder.path)/\(name)")
      }
      let refused = try DatabaseOpener(.mutations, in: folder).openWriter()
      defer { try? refused.close() }
      try refused.write {
        for number in 1...count {
          let name = "\(number) of \(count)" + String(repeating: " long", count: 500)
          try refused.execute(OutboxPartitionRow.insert, name)
        }
      }
      return Array(try Data(contentsOf: URL(filePath: "\(folder.path)/mutations.sqlite-wal")))
    }
    try connection.close()
    let whole = logs.map { LogImage($0, pageSize: 4_096) }
    let ends = whole.map { 32 + $0.validCount * 4_120 }
    try #require(ends == ends.sorted().reversed() && Set(ends).count == 3)
    let log =
      logs[2][..<ends[2]] + logs[1][ends[2]..<ends[1]] + logs[0][ends[1]..<ends[0]]
    let image = LogImage(Array(log), pageSize: 4_096)
    #expect(image.validCount == whole[2].validCount)
    #expect(!image.isDamaged)
    #expect(image.committedCount == image.validCount)
  }

  @Test func aLogThatWasClosedIsIdle() {
    var bytes = self.log
    bytes.replaceSubrange(0..<32, with: repeatElement(0, count: 32))
    let image = LogImage(bytes, pageSize: 4_096)
    #expect(image.isIdle && !image.isDamaged && image.committedCount == 0)
  }
}
