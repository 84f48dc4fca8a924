import Foundation
import Migrations
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// The valid log of another file, put beside one whose process was killed: SQLite takes it for the
/// file's own.
// One after another: each outbox watches its folder, and of watches a user has 128.
@Suite(.serialized) struct LogLinkTests {
  /// Of one that was never copied into its file, and so has all pages, and of one that has some.
  @Test(arguments: [1, 12])
  func theLogOfAnotherOutboxIsNotTakenForItsOwn(_ rows: Int) async throws {
    let first = try await Self.killedOutbox(12)
    let second = try await Self.killedOutbox(rows)
    try await Self.expectThatItIsRejected(second.log, beside: first.file)
  }

  @Test func theLogOfALaterStateIsNotTakenForThatOfABackup() async throws {
    let folder = try TemporaryFolder()
    var scratch = try OutboxScratch(in: folder)
    for number in 0..<12 { try await scratch.add("early \(number)") }
    try await scratch.storage.close()
    let backup = try Files("\(scratch.path)")
    scratch = try OutboxScratch(in: folder)
    try await scratch.add("later")
    try await scratch.storage.close()
    scratch = try OutboxScratch(in: folder)
    var killed = try Files(scratch.path)
    while killed.isIdle {
      try await scratch.add("latest")
      killed = try Files(scratch.path)
    }
    try await scratch.storage.close()
    try await Self.expectThatItIsRejected(killed.log, beside: backup.file)
  }

  @Test(arguments: [0, 17, 62])
  func itsOwnLogIsTakenWhateverBitOfItsLinkIsFlipped(_ bit: Int) async throws {
    let outbox = try await Self.killedOutbox(12)
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/mutations.sqlite"
    try Data(outbox.file).write(to: URL(filePath: path))
    let connection = try SQLiteConnection(path: path)
    var current = try #require(
      try connection.first("SELECT current FROM log_link") { try $0.data(at: 0) })
    current[bit / 8] ^= 1 << (bit % 8)
    try connection.write { try connection.execute("UPDATE log_link SET current = ?", current) }
    _ = try connection.checkpoint(.reset)
    try connection.close()
    let file = Array(try Data(contentsOf: URL(filePath: path)))
    #expect(file != outbox.file)
    let outcome = try await DamagedOutbox.open(file, outbox.log)
    #expect(outcome.reports == [] && outcome.texts == outbox.texts)
  }

  /// Whatever the first transaction of a log writes.
  @Test(arguments: DatabaseKind.allCases)
  func eachLogFollowsTheFileAsItIsAtAnyCommit(_ kind: DatabaseKind) async throws {
    let folder = try TemporaryFolder()
    let scratch = try OutboxScratch(in: folder) { $0.checkpointFrames = 20 }
    let layout = try SalvageLayout(kind.migrations, of: kind)
    let root = try #require(layout.trees["log_link"]?.roots.first)
    let path = "\(folder.path)/\(kind.fileName)"
    var logs = Set<[UInt8]>()
    for round in 0..<60 {
      switch (kind, round % 3) {
      case (.cache, 2): try await scratch.storage.erase()
      case (.cache, _): try await scratch.storage.set(["\(round % 7)": "text \(round)"])
      case (.mutations, 0): try await scratch.add("text \(round)")
      case (.mutations, 1):
        try await scratch.outbox.pause()
        try await scratch.outbox.resume()
      case (.mutations, _):
        let lease = try #require(try await scratch.claim().first)
        _ = try await scratch.outbox.settle(lease, OutboxScratch.success)
      }
      let files = try Files(path)
      if files.isIdle { continue }
      logs.insert(Array(files.log[16..<24]))
      let image = DatabaseImage(file: files.file, log: files.log)
      let frames = image.log.frames
      let end = try #require(frames.firstIndex { $0.commitSize > 0 })
      #expect(frames[...end].contains { $0.page == root }, "round \(round)")
      #expect(!image.hasForeignLog(layout), "round \(round)")
    }
    // The first log is that of the file's creation.
    #expect(logs.count > 5)
    try await scratch.storage.close()
  }

  /// A reader keeps the log from beginning anew after a checkpoint, so that the next commit links it once more.
  /// A copy of the file may be from before all that.
  @Test func aLogThatIsLinkedTwiceFollowsTheFileAsItWasBeforeIt() throws {
    let folder = try TemporaryFolder()
    let opener = DatabaseOpener(.mutations, in: folder)
    let layout = try SalvageLayout(DatabaseKind.mutations.migrations, of: .mutations)
    let root = try #require(layout.trees["log_link"]?.roots.first)
    let connection = try opener.openWriter()
    #expect(try connection.checkpoint(.reset).isComplete)
    let before = try Files(connection.path)
    try connection.write { try connection.execute(OutboxPartitionRow.insert, "first") }
    let reader = try SQLiteConnection(path: connection.path)
    _ = try reader.rowsOfText("BEGIN")
    _ = try reader.rowsOfText("SELECT count(*) FROM partitions")
    _ = try connection.checkpoint(.full)
    let between = try Files(connection.path)
    try connection.write { try connection.execute(OutboxPartitionRow.insert, "second") }
    let after = try Files(connection.path)
    let log = LogImage(after.log, pageSize: 4_096)
    #expect(log.frames.prefix(log.committedCount).count { $0.page == root } == 2)
    for file in [before.file, between.file] {
      #expect(!DatabaseImage(file: file, log: after.log).hasForeignLog(layout))
    }
    try reader.close()
    try connection.close()
  }

  // MARK: - The cache

  @Test func theLogOfAnotherCacheIsNotTakenForItsOwn() async throws {
    let first = try await Self.killedCache("first")
    let second = try await Self.killedCache("second")
    let folder = try Self.folder(ofCache: first.file, second.log)
    let trial = try StorageTrial(in: folder.path)
    #expect(await trial.text("file") == nil)
    #expect(await trial.text("log") == nil)
    let event = await trial.log.wait(\.isSetAside)
    guard case .setAside(let name, let reason) = event else { return }
    #expect(reason.message.contains("another file"))
    #expect(try FolderContents.setAside("corrupt", in: folder.path) == [name])
    await trial.close()
  }

  @Test func theLogOfACacheThatWasKilledIsTaken() async throws {
    let files = try await Self.killedCache("first")
    let folder = try Self.folder(ofCache: files.file, files.log)
    let texts = try await StorageTrial.texts(["file", "log"], in: folder.path)
    #expect(texts == ["file": "first in the file", "log": "first in the log"])
    #expect(try FolderContents.setAside("corrupt", in: folder.path) == [])
  }
}

// MARK: - Files of killed processes

extension LogLinkTests {
  private struct Files {
    let file: [UInt8]
    let log: [UInt8]

    /// Copies the files of a database that is open.
    init(_ path: String) throws {
      self.file = Array(try Data(contentsOf: URL(filePath: path)))
      self.log = Array((try? Data(contentsOf: URL(filePath: path + "-wal"))) ?? Data())
    }

    /// A second after its last commit the writer empties the log.
    var isIdle: Bool { LogImage(self.log, pageSize: 4_096).isIdle }
  }

  private static func killedOutbox(_ rows: Int) async throws -> DamagedOutbox {
    while true {
      let outbox = try await DamagedOutbox(rows: rows, isKilled: true)
      if !LogImage(outbox.log, pageSize: 4_096).isIdle { return outbox }
    }
  }

  private static func expectThatItIsRejected(_ log: [UInt8], beside file: [UInt8]) async throws {
    let alone = try await DamagedOutbox.open(file, [])
    #expect(alone.texts.count >= 5)
    let folder = try TemporaryFolder()
    let outcome = try await DamagedOutbox.open(file, log, in: folder)
    #expect(outcome.texts == alone.texts && outcome.dead.isEmpty)
    #expect(outcome.reports.count == 1 && outcome.errors == [])
    #expect(outcome.reports.first?.contains("another file") == true, "\(outcome.reports)")
    #expect(outcome.reports.first?.contains("not readable: what its own log had") == true)
    // It is kept for a user who looks for it.
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let aside = try #require(names.first { $0.contains("corrupt") && $0.hasSuffix("-wal") })
    #expect(try Array(Data(contentsOf: URL(filePath: "\(folder.path)/\(aside)"))) == log)
    #expect(try await DamagedOutbox.open(folder).texts == alone.texts)
  }

  private static func killedCache(_ name: String) async throws -> Files {
    while true {
      let folder = try TemporaryFolder()
      let first = try StorageTrial(in: folder.path)
      first.set("file", "\(name) in the file")
      await first.close()
      let second = try StorageTrial(in: folder.path)
      second.set("log", "\(name) in the log")
      #expect(await second.flush() == nil)
      let files = try Files("\(folder.path)/cache.sqlite")
      await second.close()
      if !files.isIdle { return files }
    }
  }

  private static func folder(ofCache file: [UInt8], _ log: [UInt8]) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/cache.sqlite"
    try Data(file).write(to: URL(filePath: path))
    try Data(log).write(to: URL(filePath: path + "-wal"))
    return folder
  }
}
