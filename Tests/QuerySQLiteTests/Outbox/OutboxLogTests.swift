import CSQLite
import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8, for the outbox: what the file has is in no commit of the log, so that no damage to
/// the log, and no log of another file, takes it back.
@Suite struct OutboxLogTests {
  private func log(of scratch: OutboxScratch) -> URL { URL(filePath: "\(scratch.path)-wal") }

  /// An outbox with so many mutations, closed.
  private func closed(_ count: Int, in folder: TemporaryFolder? = nil) async throws -> OutboxScratch
  {
    let scratch = try OutboxScratch(in: folder)
    for number in 0..<count { try await scratch.add("\(number)") }
    try await scratch.storage.close()
    return scratch
  }

  private func texts(in folder: TemporaryFolder) async throws -> [String] {
    let scratch = try OutboxScratch(in: folder)
    let entries = try scratch.outbox.entries()
    try await scratch.storage.close()
    return entries.map { String(decoding: $0.arguments, as: UTF8.self) }
  }

  @Test func afterACloseTheLogHasItsRoomAndNoCommit() async throws {
    let scratch = try await self.closed(30)
    let bytes = try Data(contentsOf: self.log(of: scratch))
    #expect(bytes.count >= OutboxWriter.reservedLogBytes)
    #expect(bytes.prefix(32).allSatisfy { $0 == 0 })
    // The file alone, whatever is in the log.
    var options = SQLiteConnection.Options()
    options.isReadOnly = true
    options.parameters = ["immutable": "1"]
    let file = try SQLiteConnection(path: scratch.path, options: options)
    #expect(try file.rowsOfText("SELECT count(*) FROM outbox") == ["30"])
    try file.close()
  }

  @Test(arguments: 1...12)
  func aFlippedBitInTheLogOfAClosedOutboxTakesNothingBack(_ seed: UInt64) async throws {
    let scratch = try await self.closed(30)
    var random = SeededGenerator(seed: seed)
    var bytes = try Data(contentsOf: self.log(of: scratch))
    for _ in 0..<20 {
      bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8)
    }
    try bytes.write(to: self.log(of: scratch))
    #expect(try await self.texts(in: scratch.folder) == (0..<30).map(String.init))
  }

  @Test func aFileThatIsCopiedBackIsTheOneThatIsOpened() async throws {
    let first = try await self.closed(30)
    let second = try await self.closed(60)
    try FileManager.default.removeItem(atPath: first.path)
    try FileManager.default.copyItem(atPath: second.path, toPath: first.path)
    #expect(try await self.texts(in: first.folder) == (0..<60).map(String.init))
  }

  @Test func aFileThatIsPutUnderARunningProcessIsTakenOver() async throws {
    let second = try await self.closed(60)
    let first = try OutboxScratch()
    for number in 0..<30 { try await first.add("first \(number)") }
    #expect(rename(second.path, first.path) == 0)
    try await first.add("last")
    let texts = try first.outbox.entries().map { String(decoding: $0.arguments, as: UTF8.self) }
    #expect(texts == (0..<60).map(String.init) + ["last"])
    #expect(try first.rows("PRAGMA integrity_check") == ["ok"])
    let names = try FileManager.default.contentsOfDirectory(atPath: first.folder.path)
    #expect(!names.contains { $0.contains("corrupt") })
    try await first.storage.close()
  }

  @Test func aProcessThatIsKilledWhileItIsIdleLeavesNoCommitInTheLog() async throws {
    let scratch = try OutboxScratch()
    for number in 0..<30 { try await scratch.add("\(number)") }
    // The writer empties the log a second after its last commit.
    while try Data(contentsOf: self.log(of: scratch)).prefix(32).contains(where: { $0 != 0 }) {
      try await Task.sleep(for: .milliseconds(20))
    }
    let copy = try TemporaryFolder()
    for name in ["mutations.sqlite", "mutations.sqlite-wal"] {
      try FileManager.default.copyItem(
        atPath: "\(scratch.folder.path)/\(name)", toPath: "\(copy.path)/\(name)")
    }
    #expect(try await self.texts(in: copy) == (0..<30).map(String.init))
    try await scratch.storage.close()
  }

  @Test func whatAKilledProcessLeftInTheLogIsCopiedByWhoOpensIt() async throws {
    let first = try OutboxScratch()
    for number in 0..<30 { try await first.add("\(number)") }
    let copy = try TemporaryFolder()
    for name in ["mutations.sqlite", "mutations.sqlite-wal"] {
      try FileManager.default.copyItem(
        atPath: "\(first.folder.path)/\(name)", toPath: "\(copy.path)/\(name)")
    }
    try await first.storage.close()
    let second = try OutboxScratch(in: copy)
    #expect(try second.outbox.entries().count == 30)
    while try Data(contentsOf: self.log(of: second)).prefix(32).contains(where: { $0 != 0 }) {
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(try second.outbox.entries().count == 30)
    try await second.storage.close()
  }

  /// Persistence §9: a write that no lock protects meets another process's some day.
  @Test func nothingIsWrittenWithoutTheLockThatItNeeds() async throws {
    let vfs = FaultVFS()
    let scratch = try OutboxScratch { configuration in
      configuration.vfs = vfs.name
      configuration.checkpointFrames = 10
    }
    for number in 0..<60 {
      try await scratch.add(String(repeating: "x", count: 20_000), lane: "\(number % 3)")
    }
    for _ in 0..<20 {
      let lease = try #require(try await scratch.claim().first)
      #expect(try await scratch.outbox.settle(lease, OutboxScratch.success))
    }
    try await scratch.storage.erase()
    try await scratch.storage.close()
    let next = try OutboxScratch(in: scratch.folder) { $0.vfs = vfs.name }
    try await next.add()
    try await next.storage.close()
    #expect(vfs.count(.write) > 100)
    #expect(vfs.unlockedWrites == 0)
  }

  /// A connection that opens the file beside an empty log takes the room behind its pages for pages.
  @Test func theFileDoesNotGrowWithEachProcessThatWrites() async throws {
    let folder = try TemporaryFolder()
    var sizes = [Int]()
    for round in 0..<6 {
      let scratch = try OutboxScratch(in: folder)
      try await scratch.add("\(round)")
      try await scratch.storage.close()
      sizes.append(try #require(DatabaseFiles().size(of: scratch.path)))
    }
    #expect(sizes[0] >= 1 << 20 && sizes[5] < 2 << 20, "\(sizes)")
  }

  /// As an earlier release left it.
  @Test func aFileThatHasGrownGetsItsLengthBack() async throws {
    let scratch = try OutboxScratch()
    let ids = try await [scratch.add("a"), scratch.add("b")]
    try await scratch.storage.close()
    #expect(truncate(scratch.path, 20 << 20) == 0)
    let next = try OutboxScratch(in: scratch.folder)
    let third = try await next.add("c")
    try await next.storage.close()
    #expect(DatabaseFiles().size(of: scratch.path) ?? .max < 2 << 20)
    let last = try OutboxScratch(in: scratch.folder)
    #expect(try last.outbox.entries().map(\.id) == ids + [third])
    #expect(try last.storage.outbox.counts.rows.pending == 3)
    try await last.storage.close()
  }

  /// The pages that the count leaves out may be whole.
  @Test func aDamagedPageCountCutsNothingOff() throws {
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection.scratch(in: folder)
    connection.reservedBytes = 1 << 20
    for number in 0..<40 {
      let text = "\(number) " + String(repeating: "kept", count: 25_000)
      try connection.write { try connection.execute(Scratch.insert, text) }
    }
    _ = try connection.checkpoint(.reset)
    try connection.close()
    var bytes = try Data(contentsOf: URL(filePath: connection.path))
    // Hundreds of pages less.
    #expect(bytes[30] > 1)
    bytes[30] = 1
    try bytes.write(to: URL(filePath: connection.path))
    let next = try SQLiteConnection(path: connection.path)
    next.reservedBytes = 1 << 20
    try next.pragma("PRAGMA user_version = 7")
    #expect(next.walFrames > 0)
    _ = try next.checkpoint(.reset)
    try next.close()
    let after = try Data(contentsOf: URL(filePath: connection.path))
    #expect(after.count >= bytes.count)
    #expect(after.dropFirst(4_096).starts(with: bytes.dropFirst(4_096)))
  }

  @Test func aHintOutsideOfACheckpointIsAWriteWithoutALock() throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    var options = SQLiteConnection.Options()
    options.vfs = vfs.name
    let connection = try SQLiteConnection.scratch(in: folder, options: options)
    try connection.write { try connection.execute(Scratch.insert, "a") }
    connection.reservedBytes = 1 << 20
    _ = try connection.checkpoint(.reset)
    #expect(vfs.unlockedWrites == 0)
    #expect(DatabaseFiles().size(of: connection.path) ?? 0 >= 1 << 20)
    var size: Int64 = 2 << 20
    let handle = try connection.handle(for: "hint")
    #expect(sqlite3_file_control(handle, "main", SQLITE_FCNTL_SIZE_HINT, &size) == SQLITE_OK)
    #expect(vfs.unlockedWrites == 1)
    try connection.close()
  }
}
