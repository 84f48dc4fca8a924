import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// How many frames changes cost: each is 24 bytes and a page in the WAL.
@Suite struct CacheChangesTests {
  private let cache: CacheScratch

  init() throws { self.cache = try CacheScratch() }

  /// Fills the cache with entries of 1 KB.
  private func fill(_ count: Int) throws {
    try self.cache.change { changes in
      for number in 0..<count {
        _ = try changes.write(.sample(number), identity: .sample(number))
      }
    }
  }

  private struct Frames: CustomStringConvertible {
    var counts = [Int]()
    var mean: Double { Double(self.counts.reduce(0, +)) / Double(self.counts.count) }
    var median: Int { self.counts.sorted()[self.counts.count / 2] }
    var description: String { "mean \(self.mean), median \(self.median)" }
  }

  private func frames(of entries: [(Int, StoredEntry)]) throws -> Frames {
    var frames = Frames()
    for (number, entry) in entries {
      frames.counts.append(
        try self.cache.frames { try self.cache.write(entry, .sample(number)) })
    }
    return frames
  }

  @Test func aCommitOfOneEntryCostsFewFrames() throws {
    try self.fill(10_000)
    var generator = SeededGenerator(seed: 1)
    let numbers = (0..<10_000).shuffled(using: &generator)
    let same = try self.frames(of: numbers[..<300].map { ($0, .sample($0 + 1)) })
    #expect(same.median <= 3 && same.mean <= 3.1, "same size: \(same)")
    let others = numbers[300..<600].map { number in
      (number, StoredEntry.sample(number, count: .random(in: 900...1_100, using: &generator)))
    }
    let other = try self.frames(of: others)
    #expect(other.median <= 4 && other.mean <= 4.5, "another size: \(other)")
    let inserted = try self.frames(of: (10_000..<10_300).map { ($0, .sample($0)) })
    #expect(inserted.median <= 5 && inserted.mean <= 6, "insert: \(inserted)")
    if ProcessInfo.processInfo.environment["SHOW_FRAMES"] != nil {
      print("same size: \(same); another size: \(other); insert: \(inserted)")
    }
  }

  @Test func aPageInTheMiddleIsReplacedAlone() throws {
    var pages = (0..<100).map { StoredEntry.Page.sample($0) }
    try self.cache.write(.pages(pages), .sample(1))
    pages[50] = .sample(50, 1)
    let before = try self.cache.connection.rowsOfText(Self.readPages)
    let frames = try self.cache.frames { try self.cache.write(.pages(pages), .sample(1)) }
    // The page, the entry, and the index by revision.
    #expect(frames <= 3)
    let after = try self.cache.connection.rowsOfText(Self.readPages)
    #expect(zip(before, after).filter(!=).count == 1)
    #expect(try self.cache.entry(.sample(1)) == .pages(pages))
  }

  @Test func pagesThatComeOneByOneWriteNoOther() throws {
    var pages = [StoredEntry.Page]()
    var rows = [String]()
    let frames = try self.cache.frames {
      for number in 0..<100 {
        pages.append(.sample(number, number))
        try self.cache.write(.pages(pages), .sample(1))
        let now = try self.cache.connection.rowsOfText(Self.readPages)
        #expect(now.starts(with: rows))
        rows = now
      }
    }
    if ProcessInfo.processInfo.environment["SHOW_FRAMES"] != nil {
      print("100 pages one by one: \(frames)")
    }
    #expect(frames <= 700)
    #expect(try self.cache.entry(.sample(1)) == .pages(pages))
  }

  @Test func aHundredPagesInOneCommitCostLittleMoreThanTheirBytes() throws {
    let pages = (0..<100).map { StoredEntry.Page.sample($0, $0) }
    let frames = try self.cache.frames { try self.cache.write(.pages(pages), .sample(1)) }
    #expect(frames * 4_120 <= 250_000)
  }

  private static let readPages = "SELECT id, position, hex(value) FROM pages ORDER BY position"

  @Test func thePartitionIsWrittenOnlyWhereItHasTo() throws {
    func row() throws -> [String] {
      try self.cache.connection.rowsOfText("SELECT revision, entry_count FROM partitions")
    }
    try self.cache.write(.sample(1), .sample(1))
    try self.cache.write(.sample(2), .sample(1))
    try self.cache.write(.sample(3, count: 100), .sample(2))
    #expect(try row() == ["0 0"])
    #expect(try self.cache.tables.readPartition().revision == 3)
    #expect(try self.cache.storedTotals() == (try self.cache.countedTotals()))
    try self.cache.change {
      try $0.recordUses([.sample(1)], .rows(.max))
    }
    #expect(try row() == ["4 2"])
    let totals = try self.cache.change { changes in
      _ = try changes.remove(.sample(1))
      _ = try changes.remove(.sample(2))
      return try changes.finish().totals
    }
    #expect(totals == CacheChanges.Totals(entries: 0, bytes: 0, revision: 6))
    #expect(try row() == ["6 0"])
  }
}
