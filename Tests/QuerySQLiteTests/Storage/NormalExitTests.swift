import Foundation
import Query
import QuerySQLite
import StorageTestSupport
import Testing

/// Persistence §5: a normal exit writes what is left.
@Suite struct NormalExitTests {
  private struct TextQuery: QueryRequest, Hashable {
    let name: String

    var path: QueryPath { ["texts", self.name] }

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<String>
    ) async throws -> String {
      "fetched"
    }
  }

  private static func store(
    _ name: String,
    in folder: String
  ) throws -> QueryStore<TextQuery.State> {
    var configuration = SQLiteQueryStorage.Configuration()
    // Nothing is written before the end.
    configuration.writeDelay = .seconds(3_600)
    let storage = try SQLiteQueryStorage(
      directory: URL(filePath: folder), configuration: configuration)
    return QueryClient(storage: storage).store(for: TextQuery(name: name).persisted())
  }

  @Test func exitWritesWhatIsLeft() async throws {
    let folder = try TemporaryFolder()
    await #expect(processExitsWith: .exitCode(0)) { [path = folder.path as String] in
      let stores = try (0..<100).map { try Self.store("\($0)", in: path) }
      for store in stores { store.currentValue = "edited" }
      exit(0)
    }
    for number in 0..<100 {
      let store = try Self.store("\(number)", in: folder.path)
      // On a loaded machine the storage before this one may still be closing its file.
      await store.hydrated()
      #expect(store.currentValue == "edited")
    }
  }

  @Test func returningFromMainWritesWhatIsLeft() async throws {
    let folder = try TemporaryFolder()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      try Self.store("a", in: path).currentValue = "edited"
    }
    #expect(try Self.store("a", in: folder.path).currentValue == "edited")
  }

  @Test func exitWritesAFetchedValueAndARemoval() async throws {
    let folder = try TemporaryFolder()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      try Self.store("removed", in: path).currentValue = "edited"
    }
    await #expect(processExitsWith: .exitCode(0)) { [path = folder.path as String] in
      try await Self.store("fetched", in: path).fetch()
      try Self.store("removed", in: path).reset()
      exit(0)
    }
    #expect(try Self.store("fetched", in: folder.path).currentValue == "fetched")
    #expect(try Self.store("removed", in: folder.path).currentValue == nil)
  }

  /// A storage that is released, rather than closed, writes too.
  @Test func aStorageThatNobodyHoldsWritesWhatIsLeft() async throws {
    let folder = try TemporaryFolder()
    try Self.store("a", in: folder.path).currentValue = "edited"
    // The next one on the folder shares its files, or comes after it.
    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    try await storage.flush()
    let store = QueryClient(storage: storage).store(for: TextQuery(name: "a").persisted())
    await store.hydrated()
    #expect(store.currentValue == "edited")
  }

  @Test func exitFromAThreadThatHoldsAStoreDoesNotHang() async throws {
    let folder = try TemporaryFolder()
    await #expect(processExitsWith: .exitCode(7)) { [path = folder.path as String] in
      let store = try Self.store("a", in: path)
      store.withExclusiveAccess { store in
        store.currentValue = "edited"
        exit(7)
      }
    }
    #expect(try Self.store("a", in: folder.path).currentValue == "edited")
  }
}
