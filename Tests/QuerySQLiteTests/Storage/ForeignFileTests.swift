import Foundation
import Query
import Testing

@testable import QuerySQLite

/// Persistence §2: what a person must mend is refused, and left as it is.
@Suite struct ForeignFileTests {
  @Test(arguments: ["PRAGMA application_id = 7", "CREATE TABLE others (id INTEGER)"])
  func anotherProgramsDatabaseIsRefusedAndStaysAsItWas(_ sql: String) throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: "\(folder.path)/cache.sqlite")
    try Data().write(to: url)
    let connection = try SQLiteConnection(path: url.path)
    _ = try connection.rowsOfText(sql)
    try connection.close()
    let bytes = try Data(contentsOf: url)
    #expect(!bytes.isEmpty)
    let error = storageError { _ = try SQLiteQueryStorage(directory: URL(filePath: folder.path)) }
    #expect(error?.message.contains("no cache database of this library") == true)
    #expect(try Data(contentsOf: url) == bytes)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(Set(names).isSubset(of: ["cache.sqlite", "cache.lock"]))
  }

  /// Also the one that comes second finds it so, and a file that is mended works.
  @Test func aRefusedFolderIsFreeForWhoMendsIt() async throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: "\(folder.path)/cache.sqlite")
    try Data().write(to: url)
    let connection = try SQLiteConnection(path: url.path)
    _ = try connection.rowsOfText("CREATE TABLE others (id INTEGER)")
    try connection.close()
    for _ in 1...2 {
      _ = storageError { _ = try SQLiteQueryStorage(directory: URL(filePath: folder.path)) }
    }
    try FileManager.default.removeItem(at: url)
    let trial = try StorageTrial(in: folder.path)
    trial.set("a", "text")
    #expect(await trial.close() == nil)
  }

  @Test(arguments: [(0x6969, "NFS"), (0xfe53_4d42, "SMB"), (0x0102_1997, "9p")])
  func aNetworkFileSystemIsRefusedByName(_ type: Int, _ name: String) throws {
    let folder = try TemporaryFolder()
    let error = storageError {
      _ = try StorageTrial(in: folder.path) { $0.fileSystemType = { _ in type } }
    }
    #expect(error?.message.contains("network file system (\(name))") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test func aFileSystemThatCannotBeAskedForIsNotRefused() async throws {
    let folder = try TemporaryFolder()
    let trial = try StorageTrial(in: folder.path) { $0.fileSystemType = { _ in nil } }
    trial.set("a", "text")
    #expect(await trial.close() == nil)
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": "text"])
  }
}
