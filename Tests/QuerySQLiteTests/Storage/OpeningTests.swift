import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// `SQLiteQueryStorage.open`.
@Suite struct OpeningTests {
  @MainActor
  @Test func itOpensTheStorageOfTheFolderAndOfTheAccount() async throws {
    let folder = try TemporaryFolder()
    let directory = URL(filePath: folder.path)
    let first = try await SQLiteQueryStorage.open(directory: directory, partition: "anna")
    let query = NamedText(name: "a").persisted()
    QueryClient(storage: first).store(for: query).currentValue = "text"
    try await first.close()
    let second = try await SQLiteQueryStorage.open(directory: directory, partition: "anna")
    #expect(QueryClient(storage: second).store(for: query).currentValue == "text")
    try await second.close()
    let other = try await SQLiteQueryStorage.open(directory: directory)
    #expect(QueryClient(storage: other).store(for: query).currentValue == nil)
    try await other.close()
  }

  @Test func whatTheInitialiserThrowsIsThrown() async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/cache.sqlite"
    try Data().write(to: URL(filePath: path))
    let connection = try SQLiteConnection(path: path)
    _ = try connection.rowsOfText("CREATE TABLE others (id INTEGER)")
    try connection.close()
    await #expect(throws: StorageError.self) {
      try await SQLiteQueryStorage.open(directory: URL(filePath: folder.path))
    }
    await #expect(throws: StorageError.self) {
      try await SQLiteQueryStorage.open(applicationID: "../nowhere")
    }
  }

  @Test func manyAreOpenedAtOnceThoughTheirDisksAreBusy() async throws {
    let folder = try TemporaryFolder()
    try await withThrowingTaskGroup(of: SQLiteQueryStorage.self) { group in
      for number in 0..<64 {
        let directory = URL(filePath: "\(folder.path)/\(number)")
        group.addTask { try await SQLiteQueryStorage.open(directory: directory) }
      }
      for try await storage in group {
        #expect(!storage.statistics.isDegraded)
        try await storage.close()
      }
    }
  }
}
