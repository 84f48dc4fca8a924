import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: of an outbox that is damaged anywhere, each row is there whose own bytes are whole, and
/// what is not is said. A sample; all of it in the full run.
// One after another: each outbox watches its folder, and of watches a user has 128.
@Suite(.serialized) struct DamagedOutboxTests {
  private static let isFull = ProcessInfo.processInfo.environment["FULL"] != nil

  private func sample(_ all: [Int], _ count: Int) -> [Int] {
    if Self.isFull { return all }
    var generator = SeededGenerator(seed: 7)
    return Array(all.shuffled(using: &generator).prefix(count))
  }

  @Test func aBitOfTheHeader() async throws {
    let outbox = try await DamagedOutbox(isKilled: false)
    let places = self.sample(Array(0..<112 * 8), 10)
    // What names the schema, and what opens it.
    let always =
      Self.isFull ? [] : [18, 19, 31, 47, 55, 59, 60, 63, 68, 71, 100, 104].map { $0 * 8 }
    for place in always + places {
      var bytes = outbox.file
      bytes[place / 8] ^= 1 << UInt8(place % 8)
      try await outbox.check(
        bytes, [], mayLose: 0, "bit \(place % 8) of byte \(place / 8)")
    }
  }

  @Test func aBitAnywhere() async throws {
    let outbox = try await DamagedOutbox(isKilled: false)
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<(Self.isFull ? 2_000 : 25) {
      let place = Int.random(in: 0..<outbox.file.count * 8, using: &generator)
      var bytes = outbox.file
      bytes[place / 8] ^= 1 << UInt8(place % 8)
      let page = place / 8 / 4_096 * 4_096
      let rows = outbox.rows(in: bytes, page..<page + 4_096)
      try await outbox.check(
        bytes, [], mayLose: min(1, rows), "bit \(place % 8) of byte \(place / 8)")
    }
  }

  @Test func aPageOfZeros() async throws {
    let outbox = try await DamagedOutbox(isKilled: false)
    let count = outbox.file.count / 4_096
    for page in self.sample(Array(0..<count), 8) {
      var bytes = outbox.file
      let range = page * 4_096..<(page + 1) * 4_096
      bytes.replaceSubrange(range, with: repeatElement(0, count: 4_096))
      try await outbox.check(
        bytes, [], mayLose: outbox.rows(in: outbox.file, range), "page \(page + 1)")
    }
  }

  /// The rows are whole, and nothing tells where they begin.
  @Test func theHeaderOfAPageOfRows() async throws {
    let outbox = try await DamagedOutbox(isKilled: false)
    let pages = (1..<outbox.file.count / 4_096).filter { outbox.file[$0 * 4_096] == 13 }
    #expect(pages.count > 12)
    for page in self.sample(pages, 12) {
      var bytes = outbox.file
      let start = page * 4_096
      bytes.replaceSubrange(start..<start + 8, with: repeatElement(0xa5, count: 8))
      try await outbox.check(bytes, [], mayLose: 0, "the header of page \(page + 1)")
    }
  }

  @Test func aFileThatIsCut() async throws {
    let outbox = try await DamagedOutbox(isKilled: false)
    let count = outbox.file.count / 4_096
    for page in self.sample(Array(0..<count), 6) {
      let end = page * 4_096
      try await outbox.check(
        Array(outbox.file[..<end]), outbox.log,
        mayLose: outbox.rows(in: outbox.file, end..<outbox.file.count), "cut at page \(page + 1)")
    }
  }

  @Test func aBitOfTheLogOfAKilledProcess() async throws {
    let outbox = try await DamagedOutbox(isKilled: true)
    let log = LogImage(outbox.log, pageSize: 4_096)
    #expect(log.validCount > 40 && !log.isDamaged)
    let end = 32 + log.validCount * 4_120
    var generator = SeededGenerator(seed: 13)
    // Each bit of the log's header and of a frame's, and any.
    let headers = self.sample(Array(0..<56 * 8), 10)
    let others = (0..<(Self.isFull ? 500 : 15)).map { _ in
      Int.random(in: 0..<end * 8, using: &generator)
    }
    for place in headers + others {
      var bytes = outbox.log
      bytes[place / 8] ^= 1 << UInt8(place % 8)
      try await outbox.check(
        outbox.file, bytes, mayLose: 1, "bit \(place % 8) of byte \(place / 8) of the log")
    }
  }

  @Test func bytesOfTheLogOfAKilledProcess() async throws {
    let outbox = try await DamagedOutbox(isKilled: true)
    let log = LogImage(outbox.log, pageSize: 4_096)
    // Not the last transactions: what is cut off there may be the power's doing.
    for frame in self.sample(Array(0..<log.validCount - 30), 5) {
      var bytes = outbox.log
      let start = 32 + frame * 4_120 + 300
      bytes.replaceSubrange(start..<start + 100, with: repeatElement(0x5a, count: 100))
      try await outbox.check(outbox.file, bytes, mayLose: 1, "frame \(frame + 1) of the log")
    }
  }

  /// It is about to open the file, and stopped: it has checked nothing, and keeps this one from replacing it.
  @Test func aDamagedLogIsNotOpenedBesideAProcessThatHasNotCheckedIt() async throws {
    let outbox = try await DamagedOutbox(rows: 20, isKilled: true)
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/mutations.sqlite"
    var log = outbox.log
    let frames = LogImage(log, pageSize: 4_096)
    log[32 + frames.validCount / 2 * 4_120 + 400] ^= 4
    try Data(outbox.file).write(to: URL(filePath: path))
    try Data(log).write(to: URL(filePath: path + "-wal"))
    let other = FileLock(kind: .mutations, folder: folder.path)
    try other.lockShared()
    let scratch = try OutboxScratch(in: folder)
    let error = storageError { _ = try scratch.outbox.entries() }
    #expect(error?.code == .busy, "\(String(describing: error))")
    other.unlock()
    var entries: [OutboxEntry]?
    while entries == nil {
      do { entries = try scratch.outbox.entries() } catch StorageError.Code.busy {}
    }
    #expect(Set(entries?.map(\.id) ?? []) == Set(outbox.texts.keys))
    try await scratch.storage.close()
  }

  @Test func aTornEndOfTheLogIsNoDamage() async throws {
    let outbox = try await DamagedOutbox(rows: 12, isKilled: true)
    let log = LogImage(outbox.log, pageSize: 4_096)
    let last = try #require(
      log.frames[..<log.validCount].dropLast().lastIndex { $0.commitSize > 0 })
    #expect(log.validCount - last > 2)
    // Of the last transaction one frame was not written, and those behind it were.
    var bytes = outbox.log
    let start = 32 + (last + 1) * 4_120
    bytes.replaceSubrange(start..<start + 4_120, with: repeatElement(0, count: 4_120))
    let outcome = try await DamagedOutbox.open(outbox.file, bytes)
    #expect(outcome.reports == [] && outcome.errors == [])
    #expect(outcome.texts.count >= outbox.texts.count - 1)
  }

  @Test func aFileOfNoLengthWithALogIsDamaged() async throws {
    let outbox = try await DamagedOutbox(rows: 8, isKilled: true)
    let outcome = try await DamagedOutbox.open([], outbox.log)
    #expect(outcome.isSaid)
    #expect(!outcome.texts.isEmpty)
  }

  @Test func whatWasSentIsNotSentAgain() async throws {
    let outbox = try await DamagedOutbox(isKilled: false)
    for page in self.sample(Array(0..<outbox.file.count / 4_096), 4) {
      var bytes = outbox.file
      bytes[page * 4_096 + (page == 0 ? 100 : 0)] ^= 8
      let outcome = try await DamagedOutbox.open(bytes, outbox.log)
      #expect(!outcome.texts.values.contains { $0.hasPrefix("sent ") }, "page \(page + 1)")
    }
  }
}
