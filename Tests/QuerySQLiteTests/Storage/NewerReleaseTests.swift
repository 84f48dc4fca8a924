import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: the cache of a newer release is set aside, and kept for good.
@Suite struct NewerReleaseTests {
  @Test func theFileOfANewerReleaseIsKeptForGoodAndThisOneWorks() async throws {
    let folder = try TemporaryFolder()
    let first = try StorageTrial(in: folder.path)
    first.set("a", "newer")
    #expect(await first.close() == nil)
    let connection = try SQLiteConnection(path: "\(folder.path)/cache.sqlite")
    try connection.raiseLevel(to: 2)
    try connection.close()
    let trial = try StorageTrial(in: folder.path)
    #expect(!trial.storage.statistics.isDegraded)
    #expect(await trial.text("a") == nil)
    trial.set("a", "older")
    #expect(await trial.close() == nil)
    // Damaged ones come and go beside it.
    for round in 1...3 {
      let garbage = Data(repeating: UInt8(round), count: 300)
      try garbage.write(to: URL(filePath: "\(folder.path)/cache.sqlite"))
      await (try StorageTrial(in: folder.path)).close()
    }
    #expect(try FolderContents.setAside("corrupt", in: folder.path).count == 2)
    let name = try #require(try FolderContents.setAside("level-2", in: folder.path).first)
    let kept = try SQLiteConnection(path: "\(folder.path)/\(name)")
    #expect(try kept.pragma("SELECT CAST(value AS TEXT) FROM entries") == "\"newer\"")
    try kept.close()
  }

  @Test func whoListensIsToldThatANewerReleasesFileWasSetAside() async throws {
    let folder = try TemporaryFolder()
    let connection = try DatabaseOpener(.cache, in: folder).openWriter()
    try connection.raiseLevel(to: 7)
    try connection.close()
    let trial = try StorageTrial(in: folder.path)
    let event = await trial.log.wait(\.isSetAside)
    guard case .setAside(let name, let reason) = event else { return }
    #expect(name.hasPrefix("cache.sqlite.level-7-"))
    #expect(reason.code == .schema)
    await trial.close()
  }

  /// The level is the same, and the schema another one, as an unreleased commit may have made it.
  @Test func theFileOfAnotherSchemaOfThisLevelIsKeptForGood() async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/cache.sqlite"
    let first = try StorageTrial(in: folder.path)
    first.set("a", "earlier")
    _ = try await first.enqueue("unsent")
    #expect(await first.close() == nil)
    let connection = try SQLiteConnection(path: path)
    try connection.write {
      _ = try connection.rowsOfText("DROP INDEX entries_by_identity")
      _ = try connection.rowsOfText(
        "CREATE UNIQUE INDEX entries_by_hash ON entries (partition, hash)")
      _ = try connection.rowsOfText("UPDATE migrations SET checksum = zeroblob(16)")
    }
    try connection.close()
    let trial = try StorageTrial(in: folder.path)
    #expect(!trial.storage.statistics.isDegraded)
    #expect(await trial.text("a") == nil)
    #expect(try trial.storage.outbox.counts.pending == 1)
    trial.set("a", "later")
    #expect(await trial.close() == nil)
    #expect(try FolderContents.setAside("corrupt", in: folder.path) == [])
    let name = try #require(try FolderContents.setAside("level-1", in: folder.path).first)
    let kept = try SQLiteConnection(path: "\(folder.path)/\(name)")
    #expect(try kept.pragma("SELECT CAST(value AS TEXT) FROM entries") == "\"earlier\"")
    try kept.close()
  }
}
