import Foundation
import Query
import QueryHTTP
import QuerySQLite
import StorageTestSupport
import TestSupport

/// A machine with a storage on disk, whose program can be launched again.
final class HTTPScratch: Sendable {
  let folder: StorageScratch
  let clock = TestClock()
  private let opened: Locked<SQLiteQueryStorage>

  init(folder: StorageScratch? = nil) throws {
    let folder = try folder ?? StorageScratch()
    self.folder = folder
    self.opened = Locked(try folder.storage())
  }

  var storage: SQLiteQueryStorage { self.opened.withLock { $0 } }

  /// A client, whose requests are not tried again.
  func client(_ edit: (inout QueryContext) -> Void = { _ in }) -> QueryClient {
    var context = QueryContext()
    context.queryClock = self.clock
    edit(&context)
    return QueryClient(
      storage: self.storage, defaultContext: context, storeCreator: .default(retryLimit: 0))
  }

  /// Ends the program, and starts it anew.
  func relaunch() async throws {
    try await self.storage.close()
    let storage = try self.folder.storage()
    self.opened.withLock { $0 = storage }
  }

  /// How many values are on disk.
  func storedValueCount() async throws -> Int {
    try await self.storage.flush()
    return try self.folder.rows("SELECT 1 FROM entries WHERE value IS NOT NULL").count
  }
}
