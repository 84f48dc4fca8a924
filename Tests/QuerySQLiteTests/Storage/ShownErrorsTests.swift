import CSQLite
import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §11: what an error shows.
@Suite(.warningsAreIssues) struct ShownErrorsTests {
  private static let secret = "SECRET-OF-A-USER"

  /// The error of an insertion that the disk fails: a value that does not fit the page cache is written
  /// to the log before the transaction ends, with all its values still bound.
  private static func failedInsertion(revealing: Bool) async throws -> StorageError {
    let scratch = try StorageScratch()
    let vfs = FaultVFS()
    let storage = try scratch.storage {
      $0.vfs = vfs.name
      $0.revealsBoundValues = revealing
    }
    let store = storage.store(Self.secret)
    await store.hydrated()
    vfs.fail(.write, nth: 1, persistently: true, with: SQLITE_IOERR | 3 << 8)
    let value = Self.secret + String(repeating: "x", count: 6 << 20)
    store.currentValue = value
    let error = await storageError { try await storage.flush() }
    #expect(storage.statistics.isDegraded)
    vfs.disarm()
    try await storage.flush()
    #expect(!storage.statistics.isDegraded)
    #expect(await storage.text(Self.secret) == value)
    try await storage.close()
    return try #require(error)
  }

  @Test func anErrorNamesOperationCodesMessageStatementAndFile() async throws {
    let error = try await Self.failedInsertion(revealing: false)
    #expect(error.operation == "step")
    #expect(error.code == .inputOutput)
    #expect(error.extendedCode.rawValue == 778)
    #expect(error.message == "disk I/O error")
    #expect(error.sql?.contains("INSERT INTO pages") == true)
    #expect(error.fileName == "cache.sqlite")
  }

  /// An error of URL loading has the whole URL in it.
  @Test func nothingSecretOfAFailedRequestIsOnDisk() async throws {
    let folder = try TemporaryFolder()
    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    let client = QueryClient(storage: storage)
    let url = URL(string: "http://example.org/?key=\(Self.secret)")
    let error = URLError(
      .cannotConnectToHost, userInfo: [NSURLErrorFailingURLErrorKey: url as Any])
    let query = StoredQuery<Int>(["failing"]) { throw error }.persisted()
    await #expect(throws: URLError.self) { try await client.store(for: query).fetch() }
    let send = BlockMutation(["send"]) { (_: String, _) -> String in throw error }
    await #expect(throws: MutationQueuedError.self) {
      try await client.store(for: send.persisted(as: "send")).mutate(with: "a")
    }
    try await storage.close()
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      let bytes = FileManager.default.contents(atPath: "\(folder.path)/\(name)")
      #expect(bytes?.range(of: Data(Self.secret.utf8)) == nil, "\(name)")
    }
    let next = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    let restored = QueryClient(storage: next).store(for: query)
    #expect(restored.error.map { "\($0)" }?.contains("-1004") == true)
    #expect(try next.outbox.entries().first?.lastError?.text.contains("-1004") == true)
    try await next.close()
  }

  @Test func boundValuesAreNotShown() async throws {
    let error = try await Self.failedInsertion(revealing: false)
    #expect(error.expandedSQL == nil)
    #expect(error.sql?.contains(Self.secret) == false)
    #expect(!"\(error)".contains(Self.secret))
    #expect(!error.localizedDescription.contains(Self.secret))
  }

  @Test func boundValuesAreShownWhereTheConfigurationAsksForIt() async throws {
    let error = try await Self.failedInsertion(revealing: true)
    // As SQLite writes bytes.
    let bytes = Self.secret.utf8.map { String($0, radix: 16) }.joined()
    #expect(error.expandedSQL?.lowercased().contains(bytes) == true)
    #expect(error.sql?.contains(Self.secret) == false)
  }

  @Test func useAfterClosingNamesTheFile() async throws {
    let storage = try StorageScratch().storage()
    try await storage.close()
    let errors = [
      await storageError { try await storage.flush() },
      await storageError { try await storage.erase() },
      await storageError { try await storage.prefetch(matching: []) },
    ]
    for error in errors {
      #expect(error?.code == .misuse)
      #expect(error?.fileName == "cache.sqlite")
      #expect(error?.message == "the storage is closed")
    }
    #expect(errors.map { $0?.operation } == ["flush", "erase", "prefetch"])
  }
}
