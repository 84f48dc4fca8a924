import Foundation
import Query
import QuerySQLite
import StorageTestSupport
import Testing

struct StoreFilesTests {
  @Test func theFilesOfAFolderAreBothInItAndNothingIsMade() throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: "\(folder.path)/deeper/", directoryHint: .isDirectory)
    let files = try StoreFiles(directory: url)
    #expect(files.cache == "\(folder.path)/deeper/cache.sqlite")
    #expect(files.mutations == "\(folder.path)/deeper/mutations.sqlite")
    #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/deeper"))
  }

  @Test func theyAreWhereAStorageMakesThem() async throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: folder.path, directoryHint: .isDirectory)
    let storage = try SQLiteQueryStorage(directory: url)
    let mutation = NewMutation(name: "note", instance: "", coder: "json", arguments: Data())
    _ = try await storage.outbox.enqueue(mutation, claiming: false)
    try await storage.close()
    #expect(
      FileManager.default.fileExists(atPath: try StoreFiles(directory: url).mutations))
  }

  @Test func whatIsNoFolderIsMisuse() throws {
    #expect(throws: StorageError.self) { try StoreFiles(applicationID: "../notes") }
    let url = try #require(URL(string: "https://example.org/x"))
    #expect(throws: StorageError.self) { try StoreFiles(directory: url) }
  }
}
