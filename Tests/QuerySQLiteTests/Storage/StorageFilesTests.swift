import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §2: the paths of the files, the user that owns them, and the process that opens
/// them.
@Suite(.warningsAreIssues) struct StorageFilesTests {
  // MARK: - XDG

  @Test func theCacheIsWhereTheEnvironmentSays() async throws {
    let scratch = try StorageScratch()
    await #expect(processExitsWith: .success) { [path = scratch.path as String] in
      setenv("XDG_CACHE_HOME", "\(path)/caches", 1)
      setenv("XDG_DATA_HOME", "\(path)/data", 1)
      let storage = try SQLiteQueryStorage(applicationID: "org.example.notes")
      try await storage.set(["a": "edited"])
      try await storage.close()
    }
    #expect(scratch.size(of: "caches/org.example.notes/cache.sqlite") > 0)
    #expect(scratch.size(of: "data/org.example.notes/cache.sqlite") == 0)
  }

  @Test func aVariableThatIsRelativeCountsAsUnset() async throws {
    let scratch = try StorageScratch()
    await #expect(processExitsWith: .success) { [path = scratch.path as String] in
      setenv("HOME", path, 1)
      setenv("XDG_CACHE_HOME", "caches", 1)
      unsetenv("XDG_DATA_HOME")
      let storage = try SQLiteQueryStorage(applicationID: "org.example.notes")
      try await storage.set(["a": "edited"])
      try await storage.close()
    }
    #expect(scratch.size(of: ".cache/org.example.notes/cache.sqlite") > 0)
  }

  @Test(arguments: ["", ".", "..", "a/b", "/", "a\0b"])
  func anApplicationIdentifierThatIsNoFileNameIsRefused(_ identifier: String) {
    let error = storageError { _ = try SQLiteQueryStorage(applicationID: identifier) }
    #expect(error?.code == .misuse)
  }

  // MARK: - Modes

  @Test func foldersAndFilesAreForThisUserAlone() async throws {
    let scratch = try StorageScratch()
    await #expect(processExitsWith: .success) { [path = scratch.path as String] in
      umask(0)
      let folder = "\(path)/a/b"
      let storage = try SQLiteQueryStorage(directory: URL(filePath: folder))
      try await storage.set(["a": "edited"])
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(Set(names).isSuperset(of: ["cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm"]))
      for name in names { #expect(Self.mode(of: "\(folder)/\(name)") == 0o600, "\(name)") }
      #expect(Self.mode(of: folder) == 0o700)
      #expect(Self.mode(of: "\(path)/a") == 0o700)
    }
  }

  private static func mode(of path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  // MARK: - Whose file it is

  @Test func theFileIsMarkedAsOurs() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    #expect(try scratch.rows("PRAGMA application_id") == ["1364353889"])
    #expect(try scratch.rows("PRAGMA auto_vacuum") == ["2"])
    try await storage.close()
  }

  @Test(arguments: ["PRAGMA application_id = 7", "CREATE TABLE theirs (a)"])
  func anotherProgramsFileIsRefusedAndStaysByteForByte(_ sql: String) async throws {
    let scratch = try StorageScratch()
    try DatabaseFiles().makeFile("\(scratch.path)/cache.sqlite")
    let theirs = try scratch.connection()
    _ = try theirs.rowsOfText("PRAGMA journal_mode = WAL")
    _ = try theirs.rowsOfText(sql)
    try theirs.close()
    let before = try Self.bytes(in: scratch)
    for _ in 0..<2 {
      let error = storageError { _ = try scratch.storage() }
      #expect(error?.fileName == "cache.sqlite")
      #expect(error?.message.contains("no cache database of this library") == true)
    }
    #expect(try Self.bytes(in: scratch) == before)
  }

  /// What the database is made of: the file and its log.
  private static func bytes(in scratch: StorageScratch) throws -> [Data?] {
    ["cache.sqlite", "cache.sqlite-wal"].map {
      FileManager.default.contents(atPath: "\(scratch.path)/\($0)")
    }
  }

  // MARK: - Nobody opens it by hand

  /// To close a descriptor of one's own would drop the locks of this process.
  @Test func locksHoldWhileStoragesOnTheFileComeAndGo() async throws {
    let scratch = try StorageScratch()
    try await scratch.storage().close()
    let connection = try scratch.connection()
    try await connection.reading {
      let before = try await Self.locks(in: scratch)
      #expect(before.contains("cache.sqlite"))
      for _ in 0..<3 {
        let storage = try scratch.storage()
        try await storage.set(["a": "edited"])
        let other = try scratch.storage(partition: "other")
        #expect(await storage.text("a") == "edited")
        try await other.close()
        try await storage.close()
        #expect(try await Self.locks(in: scratch) == before)
      }
    }
    try connection.close()
  }

  /// The database's files that this process holds a POSIX lock on, as another process finds them.
  private static func locks(in scratch: StorageScratch) async throws -> [String] {
    try await WorkerProcess("locks", scratch.path).finish().lines
  }

  // MARK: - A file that is busy

  /// While another process makes it, for longer than the thread that makes a storage waits.
  @Test func aFileThatIsBusyIsWaitedForAndNothingIsSaid() async throws {
    let scratch = try StorageScratch()
    let path = "\(scratch.path)/cache.sqlite"
    try DatabaseFiles.system.makeFile(path)
    let other = try SQLiteConnection(path: path)
    _ = try other.rowsOfText("BEGIN EXCLUSIVE")
    let storage = try scratch.storage()
    let log = EventLog(storage.events)
    #expect(!storage.statistics.isDegraded)
    _ = try other.rowsOfText("ROLLBACK")
    try other.close()
    try await storage.set(["a": "text"])
    #expect(log.events.filter { $0.isDegraded } == [])
    try await storage.close()
  }

  // MARK: - A folder that cannot be made

  @Test func aFolderThatCannotBeMadeLeavesAStorageThatWorksFromMemoryAndRecovers() async throws {
    let scratch = try StorageScratch()
    let file = "\(scratch.path)/file"
    try Data("theirs".utf8).write(to: URL(filePath: file))
    let storage = try SQLiteQueryStorage(directory: URL(filePath: "\(file)/folder"))
    let events = storage.events
    #expect(storage.statistics.isDegraded)
    // Nothing to be written: that says nothing about the disk.
    try await storage.flush()
    #expect(storage.statistics.isDegraded)
    let store = storage.store("a")
    #expect(try await store.fetch() == "fetched")
    #expect(await storageError { try await storage.flush() } != nil)
    #expect(storage.store("a").currentValue == "fetched")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "theirs")
    try FileManager.default.removeItem(atPath: file)
    var seen = [StorageEvent]()
    // The cache and the outbox recover one after the other.
    for await event in events {
      seen.append(event)
      if event == .recovered, !storage.statistics.isDegraded { break }
    }
    if case .degraded? = seen.first {} else { Issue.record("\(seen)") }
    #expect(!storage.statistics.isDegraded)
    #expect(await storage.text("a") == "fetched")
    try await storage.close()
  }
}
