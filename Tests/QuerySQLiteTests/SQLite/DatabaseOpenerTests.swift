import Foundation
import Query
import StorageTestSupport
import Synchronization
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct DatabaseOpenerTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  private func contents(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

  private func failure(_ opener: DatabaseOpener) -> OpeningFailure? {
    #expect(throws: OpeningFailure.self) { try opener.openWriter() }
  }

  @Test(arguments: DatabaseKind.allCases)
  func aNewFileIsMadeForItsUserAlone(_ kind: DatabaseKind) throws {
    let opener = DatabaseOpener(kind: kind, folder: "\(self.folder.path)/new/folder")
    let connection = try opener.openWriter()
    for suffix in ["", "-wal", "-shm"] {
      var status = stat()
      #expect(stat(opener.path + suffix, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
    }
    #expect(try connection.pragma("PRAGMA application_id") == "\(kind.applicationID)")
    #expect(try connection.pragma("PRAGMA journal_mode") == "wal")
    #expect(try connection.pragma("PRAGMA auto_vacuum") == (kind == .cache ? "2" : "0"))
    #expect(try connection.pragma("PRAGMA synchronous") == (kind == .cache ? "1" : "2"))
    #expect(try connection.pragma("PRAGMA secure_delete") == "0")
    #expect(try connection.pragma("PRAGMA wal_autocheckpoint") == "0")
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
    #expect(connection.busyHandler.patience == .limited(.seconds(5)))
    try connection.close()
    let hasWAL = FileManager.default.fileExists(atPath: "\(opener.path)-wal")
    #expect(hasWAL == (kind == .mutations))
  }

  @Test func aSecondOpeningFindsWhatTheFirstWrote() throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    let connection = try opener.openWriter()
    try connection.write { try connection.execute(PartitionRow.insert, "a") }
    let reader = try opener.openReader()
    #expect(try PartitionRow.named("a", on: reader)?.id == 1)
    #expect(try reader.pragma("PRAGMA query_only") == "1")
    try reader.close()
    try connection.close()
    let again = try opener.openWriter()
    #expect(try PartitionRow.named("a", on: again)?.id == 1)
  }

  @Test func aReaderMakesNothing() throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    let failure = #expect(throws: OpeningFailure.self) { try opener.openReader() }
    #expect(failure?.kind == .unavailable)
    #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == [])
  }

  /// An application that was killed has left it; the next one that writes copies it into the file.
  @Test func aReaderLeavesTheLogAsItIs() throws {
    let writer = DatabaseOpener(.cache, in: self.folder)
    let connection = try writer.openWriter()
    try connection.write { try connection.execute(PartitionRow.insert, "a") }
    let folder = try TemporaryFolder()
    let opener = DatabaseOpener(.cache, in: folder)
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: writer.path + suffix, toPath: opener.path + suffix)
    }
    try connection.close()
    let before = try ["", "-wal"].map { try self.contents(opener.path + $0) }
    let reader = try opener.openReader()
    #expect(try PartitionRow.named("a", on: reader)?.id == 1)
    try reader.close()
    let after = try ["", "-wal"].map { try self.contents(opener.path + $0) }
    #expect(after == before)
  }

  @Test(arguments: [
    ["PRAGMA application_id = 7", "CREATE TABLE a (b)"], ["PRAGMA application_id = 7"],
    ["CREATE TABLE a (b)"], ["PRAGMA journal_mode = WAL", "CREATE TABLE a (b)"],
  ])
  func anotherProgramsFileIsLeftAsItWas(_ script: [String]) throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    try self.makeDatabase(opener.path, script)
    let before = try self.contents(opener.path)
    let failure = self.failure(opener)
    #expect(failure?.kind == .refused)
    #expect(failure?.error.fileName == "cache.sqlite")
    #expect(try self.contents(opener.path) == before)
  }

  @Test func anotherProgramsWALIsNotCheckpointed() throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    try self.makeDatabase(opener.path, ["PRAGMA journal_mode = WAL"])
    var options = SQLiteConnection.Options()
    options.checkpointsOnClose = false
    let foreign = try SQLiteConnection(path: opener.path, options: options)
    try foreign.pragma("PRAGMA application_id = 7")
    try foreign.pragma("CREATE TABLE a (b)")
    try foreign.close()
    let before = try self.contents(opener.path)
    let wal = try self.contents("\(opener.path)-wal")
    #expect(wal.count > 4_096)
    #expect(self.failure(opener)?.kind == .refused)
    #expect(try self.contents(opener.path) == before)
    #expect(try self.contents("\(opener.path)-wal") == wal)
  }

  @Test func theOtherKindIsForeignToo() throws {
    try DatabaseOpener(.mutations, in: self.folder).openWriter().close()
    let opener = DatabaseOpener(.cache, in: self.folder)
    try FileManager.default.moveItem(
      atPath: "\(self.folder.path)/mutations.sqlite", toPath: opener.path)
    #expect(self.failure(opener)?.kind == .refused)
  }

  @Test func anEmptyDatabaseBecomesOurs() throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    try self.makeDatabase(opener.path, ["PRAGMA journal_mode = WAL"])
    let connection = try opener.openWriter()
    #expect(try connection.pragma("PRAGMA auto_vacuum") == "2")
    #expect(try connection.pragma("PRAGMA user_version") == "1")
  }

  @Test(arguments: [1, 100, 4_096, 40_000])
  func whatIsNoDatabaseIsCorruptAndLeftAsItWas(_ count: Int) throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
    try bytes.write(to: URL(filePath: opener.path))
    #expect(self.failure(opener)?.kind == .corrupt)
    #expect(try self.contents(opener.path) == bytes)
  }

  @Test func aDamagedSchemaIsCorrupt() throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    try opener.openWriter().close()
    var bytes = try self.contents(opener.path)
    bytes.replaceSubrange(100..<108, with: Data(repeating: 0xff, count: 8))
    try bytes.write(to: URL(filePath: opener.path))
    #expect(self.failure(opener)?.kind == .corrupt)
    let truncated = try self.contents(opener.path).prefix(8_192)
    try truncated.write(to: URL(filePath: opener.path))
    #expect(self.failure(opener)?.kind == .corrupt)
  }

  @Test func aFolderInTheFilesPlaceIsUnavailable() throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    try DatabaseFiles().makeFolder(opener.path)
    #expect(self.failure(opener)?.kind == .unavailable)
  }

  @Test func aNetworkFileSystemIsRefusedBeforeAFileIsMade() throws {
    var opener = DatabaseOpener(.cache, in: self.folder)
    opener.files.fileSystemType = { _ in 0x6969 }
    #expect(self.failure(opener)?.kind == .refused)
    #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == [])
  }

  @Test func aLockThatStaysMakesItUnavailable() throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    try self.makeDatabase(opener.path, [])
    let holder = try SQLiteConnection(path: opener.path)
    try holder.pragma("BEGIN EXCLUSIVE")
    var impatient = opener
    impatient.patience = .milliseconds(30)
    let failure = self.failure(impatient)
    #expect(failure?.kind == .unavailable)
    #expect(failure?.error.code == .busy)
    try holder.pragma("ROLLBACK")
    try opener.openWriter().close()
  }

  @Test func theSwitchToWALIsTriedAgain() async throws {
    var opener = DatabaseOpener(.cache, in: self.folder)
    opener.patience = .seconds(60)
    try self.makeDatabase(opener.path, [])
    // A reader in rollback mode lets others read, but not switch.
    let holder = try SQLiteConnection(path: opener.path)
    try holder.pragma("BEGIN")
    #expect(try holder.pragma("SELECT count(*) FROM sqlite_schema") == "0")
    let kinds = Recorder<String>()
    let patient = opener
    let thread = Thread {
      do throws(OpeningFailure) {
        let connection = try patient.openWriter()
        kinds.append((try? connection.pragma("PRAGMA journal_mode")) ?? "none")
      } catch {
        kinds.append("\(error)")
      }
    }
    thread.start()
    var impatient = opener
    impatient.patience = .milliseconds(30)
    #expect(self.failure(impatient)?.error.code == .busy)
    try holder.pragma("COMMIT")
    await kinds.wait(forCount: 1)
    #expect(kinds.elements == ["wal"])
  }

  @Test func eightThatOpenANewFileAtOnceAllOpenIt() async throws {
    var opener = DatabaseOpener(.mutations, in: self.folder)
    opener.patience = .seconds(60)
    let shared = opener
    let results = Recorder<String>()
    await runOnThreads(8) { thread in
      do {
        let connection = try shared.openWriter()
        try connection.write { try connection.execute(PartitionRow.insert, "\(thread)") }
        results.append("ok")
      } catch {
        results.append("\(error)")
      }
    }
    #expect(results.elements == Array(repeating: "ok", count: 8))
    let connection = try opener.openReader()
    #expect(try connection.pragma("SELECT count(*) FROM partitions") == "8")
    #expect(try connection.pragma("SELECT count(*) FROM migrations") == "1")
  }

  /// Makes a database as another program would.
  private func makeDatabase(_ path: String, _ script: [String]) throws {
    try DatabaseFiles().makeFile(path)
    let connection = try SQLiteConnection(path: path)
    try connection.pragma("VACUUM")
    for statement in script {
      switch statement {
      case "PRAGMA application_id = 7": try connection.pragma("PRAGMA application_id = 7")
      case "PRAGMA journal_mode = WAL": try connection.pragma("PRAGMA journal_mode = WAL")
      default: try connection.pragma("CREATE TABLE a (b)")
      }
    }
    try connection.close()
  }
}
