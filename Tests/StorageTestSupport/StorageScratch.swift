import CSQLite
import Foundation
package import Query
package import QuerySQLite

/// A folder with the files of a storage, and ways to look at them from beside.
package struct StorageScratch {
  package let folder: TemporaryFolder

  package init() throws { self.folder = try TemporaryFolder() }

  package var path: String { self.folder.path }

  /// Opens a storage in the folder.
  ///
  /// - Parameters:
  ///   - partition: The account.
  ///   - edit: What is otherwise than by default; the patience is that of a busy machine.
  package func storage(
    partition: String = "",
    _ edit: (inout SQLiteQueryStorage.Configuration) -> Void = { _ in }
  ) throws -> SQLiteQueryStorage {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.busyTimeout = .seconds(300)
    edit(&configuration)
    return try SQLiteQueryStorage(
      directory: URL(filePath: self.path, directoryHint: .isDirectory), partition: partition,
      configuration: configuration)
  }

  /// Opens a storage for a closure, and closes it.
  package func withStorage(_ body: (SQLiteQueryStorage) async throws -> Void) async throws {
    let storage = try self.storage()
    try await body(storage)
    try await storage.close()
  }

  /// A connection to the cache beside the storage's, as another program may have one.
  package func connection() throws -> SQLiteConnection {
    var options = SQLiteConnection.Options.patient
    options.checkpointsOnClose = false
    let connection = try SQLiteConnection(path: "\(self.path)/cache.sqlite", options: options)
    _ = try connection.rowsOfText("SELECT count(*) FROM sqlite_schema")
    return connection
  }

  /// The rows of a statement, each as its texts with spaces between.
  package func rows(_ sql: String) throws -> [String] {
    let connection = try self.connection()
    defer { try? connection.close() }
    return try connection.rowsOfText(sql)
  }

  /// How many bytes a file of the folder has; 0 if it is missing.
  package func size(of name: String) -> Int {
    DatabaseFiles.system.size(of: "\(self.path)/\(name)") ?? 0
  }

  /// The files of the folder whose bytes contain a text. Not while a connection of this process is
  /// open: to close a database file that was opened by hand drops its locks.
  package func files(containing text: String) throws -> [String] {
    let bytes = Data(text.utf8)
    let names = try FileManager.default.contentsOfDirectory(atPath: self.path).sorted()
    return try names.filter { name in
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: "\(self.path)/\(name)", isDirectory: &isFolder)
      if isFolder.boolValue { return false }
      return try Data(contentsOf: URL(filePath: "\(self.path)/\(name)")).range(of: bytes) != nil
    }
  }
}

/// A query of a text.
package struct TextsQuery: QueryRequest, Hashable {
  package let name: String
  /// What it fetches; nil: it fails.
  package var fetched: String? = "fetched"

  package var path: QueryPath { ["texts", self.name] }

  package func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    if let fetched { return fetched }
    throw CocoaError(.fileReadUnknown)
  }
}

extension QueryStorage {
  /// A store of a text, made anew and hydrated as far as that is possible without waiting.
  package func store(
    _ name: String,
    fetching fetched: String? = "fetched",
    _ options: PersistenceOptions = PersistenceOptions(),
    clock: (any QueryClock)? = nil
  ) -> QueryStore<TextsQuery.State> {
    var context = QueryContext()
    context.queryStorage = self
    if let clock { context.queryClock = clock }
    return .detached(
      query: TextsQuery(name: name, fetched: fetched).persisted(options), initialValue: nil,
      initialContext: context)
  }

  /// What is stored of a text, as a store made now comes to show it.
  package func text(_ name: String) async -> String? {
    let store = self.store(name)
    await store.hydrated()
    return store.currentValue
  }

  /// Sets texts, and returns when they are committed.
  package func set(_ texts: [String: String], _ options: PersistenceOptions = .init()) async throws
  {
    for (name, text) in texts { self.store(name, options).currentValue = text }
    try await self.flush()
  }
}

extension SQLiteConnection {
  /// Keeps a read transaction open while a closure runs: the log cannot be restarted meanwhile.
  package nonisolated(nonsending) func reading<R>(_ body: () async throws -> R) async throws -> R {
    _ = try self.rowsOfText("BEGIN")
    _ = try self.rowsOfText("SELECT count(*) FROM migrations")
    let result: Result<R, any Error>
    do {
      result = .success(try await body())
    } catch {
      result = .failure(error)
    }
    _ = try self.rowsOfText("COMMIT")
    return try result.get()
  }
}
