import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §9: the log is copied into the file, and begins anew.
@Suite(.warningsAreIssues) struct CheckpointingTests {
  private static func commit(_ rounds: Range<Int>, to storage: SQLiteQueryStorage) async throws {
    let store = storage.store("a")
    for round in rounds {
      store.currentValue = "\(round)"
      try await storage.flush()
    }
  }

  @Test func theLogStaysShortHoweverManyCommitsThereAre() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.checkpointFrames = 10 }
    try await Self.commit(0..<20, to: storage)
    let size = scratch.size(of: "cache.sqlite-wal")
    try await Self.commit(20..<300, to: storage)
    #expect(storage.statistics.bytesWritten > 2 * size)
    #expect(scratch.size(of: "cache.sqlite-wal") <= max(size, 40 * (4_096 + 24)))
    #expect(await storage.text("a") == "299")
    try await storage.close()
  }

  @Test func writersGoOnWhileAReaderStaysAndTheLogBeginsAnewAfterIt() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.checkpointFrames = 10 }
    let reader = try scratch.connection()
    try await reader.reading { try await Self.commit(0..<100, to: storage) }
    #expect(storage.statistics.commits == 100)
    #expect(!storage.statistics.isDegraded)
    #expect(scratch.size(of: "cache.sqlite-wal") > 100 * 4_096)
    // Another connection's commit shows how far the WAL is.
    repeat {
      try await Self.commit(0..<1, to: storage)
      try await Task.sleep(for: .milliseconds(50))
      try reader.write {
        _ = try reader.rowsOfText("UPDATE migrations SET applied_at = applied_at + 1")
      }
    } while reader.walFrames > 90
    let size = scratch.size(of: "cache.sqlite-wal")
    try await Self.commit(100..<200, to: storage)
    #expect(scratch.size(of: "cache.sqlite-wal") == size)
    try reader.close()
    try await storage.close()
  }

  @Test func theLogIsGoneWhenTheLastStorageIsClosed() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await Self.commit(0..<10, to: storage)
    #expect(scratch.size(of: "cache.sqlite-wal") > 0)
    try await storage.close()
    #expect(scratch.size(of: "cache.sqlite-wal") == 0)
    #expect(try scratch.rows("SELECT CAST(value AS TEXT) FROM entries") == [#""9""#])
  }

  /// A folder that was renamed takes its watch with it: `data_version` is asked from then on.
  @Test func whereThereIsNoWatchAnotherProcessIsNoticedAllTheSame() async throws {
    let outer = try TemporaryFolder()
    let folder = "\(outer.path)/folder"
    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder))
    try await storage.set(["a": "stored"])
    try FileManager.default.moveItem(atPath: folder, toPath: "\(folder)-elsewhere")
    try FileManager.default.moveItem(atPath: "\(folder)-elsewhere", toPath: folder)
    let events = storage.events
    let worker = try WorkerProcess("write", folder, "other", "1", "1", "10", "1")
    let identity = QueryIdentity(canonicalText: #"["notes","other",1]"#)
    #expect(await events.contains(.changedByAnotherProcess(identity)))
    _ = await worker.finish()
    try await storage.close()
  }
}
