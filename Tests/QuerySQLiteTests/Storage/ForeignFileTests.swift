import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §2: what a person must mend is refused, and left as it is.
@Suite struct ForeignFileTests {
  @Test(
    arguments: ["PRAGMA application_id = 7", "CREATE TABLE others (id INTEGER)"],
    ["cache", "mutations"])
  func anotherProgramsDatabaseIsRefusedAndStaysAsItWas(_ sql: String, _ kind: String) throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: "\(folder.path)/\(kind).sqlite")
    try Data().write(to: url)
    let connection = try SQLiteConnection(path: url.path)
    _ = try connection.rowsOfText(sql)
    try connection.close()
    let bytes = try Data(contentsOf: url)
    #expect(!bytes.isEmpty)
    let error = storageError { _ = try SQLiteQueryStorage(directory: URL(filePath: folder.path)) }
    #expect(error?.message.contains("no \(kind) database of this library") == true)
    #expect(try Data(contentsOf: url) == bytes)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let ours = names.filter { $0.hasPrefix(kind) }
    #expect(Set(ours).isSubset(of: ["\(kind).sqlite", "\(kind).lock"]))
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

  @Test func aNetworkFileSystemIsRefusedForTheOutboxAlone() throws {
    let (home, data) = (try TemporaryFolder(), try TemporaryFolder())
    let locations = try StorageLocations(
      applicationID: "notes",
      environment: ["XDG_CACHE_HOME": home.path, "XDG_DATA_HOME": data.path])
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.fileSystemType = { $0.hasPrefix(data.path) ? 0x6969 : nil }
    let error = storageError {
      _ = try SQLiteOutbox(
        folder: locations.folder(of: .mutations), partition: "default", configuration,
        OutboxPartition.Hooks(
          tell: { _ in }, invalidate: { _, _, done in done(true) },
          missing: { _, done in done([]) }, show: { _ in }))
    }
    #expect(error?.message.contains("network file system (NFS)") == true)
  }

  /// SQLite has room for 512 bytes, and says no more than that it cannot open the file.
  @Test(arguments: [true, false])
  func aPathThatIsTooLongForSQLiteIsRefusedInWords(_ isTooLong: Bool) async throws {
    let folder = try TemporaryFolder()
    let count = (isTooLong ? 505 : 504) - "/mutations.sqlite".utf8.count - folder.path.utf8.count
    var rest = count
    var path = folder.path
    while rest > 0 {
      let part = rest > 120 ? 100 : rest - 1
      path += "/" + String(repeating: "a", count: part)
      rest -= part + 1
    }
    #expect(path.utf8.count - folder.path.utf8.count == count)
    if isTooLong {
      let error = storageError { _ = try StorageTrial(in: path) }
      #expect(error?.message.contains("512") == true)
      return
    }
    let trial = try StorageTrial(in: path)
    trial.set("a", "text")
    _ = try await trial.storage.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
    #expect(await trial.close() == nil)
    #expect(try await StorageTrial.texts(["a"], in: path) == ["a": "text"])
  }

  @Test func aFileSystemThatCannotBeAskedForIsNotRefused() async throws {
    let folder = try TemporaryFolder()
    let trial = try StorageTrial(in: folder.path) { $0.fileSystemType = { _ in nil } }
    trial.set("a", "text")
    #expect(await trial.close() == nil)
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": "text"])
  }
}
