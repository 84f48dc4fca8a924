import Query
import StorageTestSupport

@testable import QuerySQLite

/// A new cache whose writer the test runs: its thread is not started.
struct CacheWriterScratch {
  let database: CacheDatabase
  let partition = CachePartition(name: "", limits: CacheLimits(entries: 1_000, bytes: .max))
  private let folder: TemporaryFolder

  var writer: CacheWriter { self.database.thread.writer }

  init(configure: (inout SQLiteQueryStorage.Configuration) -> Void = { _ in }) throws {
    var configuration = SQLiteQueryStorage.Configuration()
    configure(&configuration)
    self.folder = try TemporaryFolder()
    self.database = try CacheDatabase(
      folder: self.folder.path, configuration)
    _ = self.database.openPartitions.hold("", orAdd: self.partition)
    try self.writer.start(for: self.database)
  }

  /// Writes sample entries in a transaction of their own.
  func write(_ numbers: Range<Int>) throws {
    let connection = try self.writer.usableConnection()
    try self.writer.write(in: self.partition, connection) { changes in
      for number in numbers {
        _ = try changes.write(.sample(number, count: 100), identity: .sample(number))
      }
      return true
    }
  }
}
