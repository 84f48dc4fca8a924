import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// Persistence §9 and the tools: a store is read without a lock of a writer and without a trace, whatever
/// state its files are in, and never as a mixture of two.
@Suite struct InspectionFileTests {
  private static let count: SQL = "SELECT count(*) FROM entries"

  private func file(_ scratch: StorageScratch) -> InspectionFile {
    InspectionFile(kind: .cache, folder: scratch.path)
  }

  private func entries(_ file: InspectionFile) throws -> Int64? {
    try file.read { connection in
      try connection.first(Self.count) { try $0.integer(at: 0) }
    }
  }

  @Test func whileAnApplicationHasItOpenItIsReadByTheSharedMemory() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "1", "b": "2"])
    let file = self.file(scratch)
    #expect(try self.entries(file) == 2)
    #expect(file.access == .shared)
    try await storage.set(["c": "3"])
    #expect(try self.entries(file) == 3)
    try await storage.close()
    file.close()
    #expect(try self.entries(file) == 3)
  }

  @Test func whileAnotherConnectionHoldsTheWriteLockItIsRead() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "1"])
    let writer = try scratch.connection()
    for begin in ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"] {
      _ = try writer.rowsOfText(begin)
      _ = try writer.rowsOfText("UPDATE entries SET revision = revision + 1")
      #expect(try self.entries(self.file(scratch)) == 1)
      _ = try writer.rowsOfText("ROLLBACK")
    }
    try writer.close()
    try await storage.close()
  }

  @Test func whatIsReadHoldsUpNoWriter() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "1"])
    let file = self.file(scratch)
    let writer = try scratch.connection()
    // A commit in the middle of a read: nobody waits, and the read sees nothing of it.
    let seen = try file.read { connection in
      let before = try connection.first(Self.count) { try $0.integer(at: 0) }
      _ = try writer.rowsOfText("DELETE FROM entries")
      return [before, try connection.first(Self.count) { try $0.integer(at: 0) }]
    }
    #expect(seen == [1, 1])
    #expect(try self.entries(file) == 0)
    try writer.close()
    try await storage.close()
  }

  @Test func aClosedStoreIsReadWithoutALockAndWithoutATrace() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "1"]) }
    let before = try scratch.listing()
    let file = self.file(scratch)
    #expect(try self.entries(file) == 1)
    #expect(file.access == .immutable)
    #expect(try scratch.listing() == before)
  }

  /// A store of twenty entries whose process was killed while it wrote.
  private static func killedStore() async throws -> StorageScratch {
    let scratch = try StorageScratch()
    let worker = try WorkerProcess("write", scratch.path, "a", "20", "1000000", "50", "20")
    var lines = worker.lines.makeAsyncIterator()
    while let line = await lines.next(), line != "flushed 1 20" {}
    worker.killNow()
    _ = await worker.waitForEnd()
    return scratch
  }

  @Test func aStoreThatWasKilledIsReadWithWhatItsLogHas() async throws {
    let scratch = try await Self.killedStore()
    let before = try scratch.listing()
    let file = self.file(scratch)
    #expect(try self.entries(file) == 20)
    #expect(file.access == .shared)
    #expect(try scratch.listing() == before)
  }

  @Test func withoutTheSharedMemoryTheLogIsReadFromACopy() async throws {
    let scratch = try await Self.killedStore()
    try FileManager.default.removeItem(atPath: "\(scratch.path)/cache.sqlite-shm")
    let before = try scratch.listing()
    let file = self.file(scratch)
    #expect(try self.entries(file) == 20)
    #expect(file.access == .copy)
    #expect(try scratch.listing() == before)
  }

  @Test func aCopyIsNotReadOnceTheFileHasChanged() async throws {
    let scratch = try await Self.killedStore()
    try FileManager.default.removeItem(atPath: "\(scratch.path)/cache.sqlite-shm")
    let file = self.file(scratch)
    #expect(try self.entries(file) == 20)
    #expect(file.access == .copy)
    // It leaves no shared memory.
    try await scratch.withStorage { try await $0.set(["b": "1"]) }
    #expect(try self.entries(file) == 21)
  }

  @Test func whatAnApplicationOpensInTheMiddleOfAReadIsReadAgain() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "1"]) }
    let file = self.file(scratch)
    var storages = [SQLiteQueryStorage]()
    var reads = 0
    let count = try file.read { connection in
      reads += 1
      let count = try connection.first(Self.count) { try $0.integer(at: 0) }
      if storages.isEmpty {
        // It checkpoints as it closes: pages that were not read yet are others now.
        let worker = try ChildProcess(
          ChildProcess.product("storage-worker"), ["write", scratch.path, "b", "5", "1", "9", "5"],
          output: .null)
        #expect(worker.waitUntilEnd() == .code(0))
        storages.append(try scratch.storage())
      }
      return count
    }
    #expect(reads > 1)
    #expect(count == 6)
    for storage in storages { try await storage.close() }
  }

  @Test func whatIsLeftOfAKilledProgramIsReadAgainWhereAnotherOneOpensIt() async throws {
    let scratch = try await Self.killedStore()
    let file = self.file(scratch)
    var reads = 0
    let count = try file.read { connection in
      reads += 1
      let count = try connection.first(Self.count) { try $0.integer(at: 0) }
      if reads == 1 {
        // It recovers the log, and writes more of it.
        let worker = try ChildProcess(
          ChildProcess.product("storage-worker"),
          ["write", scratch.path, "b", "5", "1", "9", "5"], output: .null)
        #expect(worker.waitUntilEnd() == .code(0))
      }
      return count
    }
    #expect(reads > 1)
    #expect(count == 25)
  }

  @Test func aFileThatIsReplacedIsReadAnew() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "1"])
    let file = self.file(scratch)
    #expect(try self.entries(file) == 1)
    for name in ["cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm"] {
      try FileManager.default.removeItem(atPath: "\(scratch.path)/\(name)")
    }
    try await storage.set(["b": "1", "c": "1"])
    #expect(try self.entries(file) == 2)
    try await storage.close()
  }

  @Test func otherFilesAreToldApart() async throws {
    let scratch = try StorageScratch()
    let path = "\(scratch.path)/cache.sqlite"
    let file = self.file(scratch)
    #expect(try !file.exists)
    #expect(throws: InspectionError.noStore(folders: [scratch.path])) { try self.entries(file) }
    try Data(repeating: 7, count: 4_096).write(to: URL(filePath: path))
    #expect(Self.isDamaged(Result { try self.entries(file) }))
    try Data("short".utf8).write(to: URL(filePath: path))
    #expect(Self.isDamaged(Result { try self.entries(file) }))
    try Data().write(to: URL(filePath: path))
    #expect(try !file.exists)
    try FileManager.default.removeItem(atPath: path)
    let foreign = try SQLiteConnection(path: try Self.make(path))
    _ = try foreign.rowsOfText("CREATE TABLE a (b)")
    try foreign.close()
    guard case .failure(.foreign) = Self.result({ try self.entries(file) }) else {
      Issue.record("a foreign file")
      return
    }
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    guard case .failure(.unavailable(let error)) = Self.result({ try self.entries(file) }) else {
      Issue.record("a folder")
      return
    }
    #expect(error.message == String(cString: strerror(EISDIR)))
  }

  /// It has a header, and no step of the schema was run: an application makes it just now, or was killed
  /// over that.
  @Test func aFileThatIsBeingMadeIsNoneYet() async throws {
    let scratch = try StorageScratch()
    let path = try Self.make("\(scratch.path)/cache.sqlite")
    let connection = try SQLiteConnection(path: path)
    _ = try connection.rowsOfText("PRAGMA journal_mode = WAL")
    try connection.close()
    #expect(DatabaseFiles().size(of: path) ?? 0 > 0)
    let file = self.file(scratch)
    #expect(throws: InspectionError.noStore(folders: [scratch.path])) { try self.entries(file) }
    let store = try StoreInspection(directory: URL(filePath: scratch.path))
    #expect(try store.partitions() == [])
    let storage = try scratch.storage()
    try await storage.set(["a": "1"])
    #expect(try self.entries(file) == 1)
    try await storage.close()
  }

  @Test func aNewerFileIsToldWithItsLevel() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "1"]) }
    let connection = try scratch.connection()
    try connection.raiseLevel(to: 99)
    try connection.close()
    guard
      case .failure(.newer(level: 99, _)) = Self.result({ try self.entries(self.file(scratch)) })
    else {
      Issue.record("a newer file")
      return
    }
  }

  private static func make(_ path: String) throws -> String {
    try DatabaseFiles().makeFile(path)
    return path
  }

  private static func result<R>(_ body: () throws -> R) -> Result<R, InspectionError> {
    do {
      return .success(try body())
    } catch {
      return .failure(error as? InspectionError ?? .notFound("\(error)"))
    }
  }

  private static func isDamaged<R>(_ result: Result<R, any Error>) -> Bool {
    if case .failure(InspectionError.damaged) = result { return true }
    return false
  }
}

extension StorageScratch {
  /// The files of the folder with length, number and time: every writer leaves a trace in these.
  func listing() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: self.path).sorted().map { name in
      var status = stat()
      #expect(stat("\(self.path)/\(name)", &status) == 0)
      return
        "\(name) \(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }
  }
}
