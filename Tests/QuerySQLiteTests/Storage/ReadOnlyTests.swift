import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: if a folder or a file cannot be written, cannot be made or is gone, queries go
/// on, and the storage works again once that has changed.
@Suite struct ReadOnlyTests {
  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a file system"))
  func onAFileSystemForReadingAloneQueriesGoOnUntilItCanBeWritten() async throws {
    let folder = try MountedFolder(bytes: 4 << 20)
    let first = try StorageTrial(in: folder.path)
    first.set("a", "first")
    #expect(await first.close() == nil)
    try folder.setReadOnly(true)
    let trial = try StorageTrial(in: folder.path)
    #expect(trial.storage.statistics.isDegraded)
    // What is there is shown.
    #expect(await trial.text("a") == "first")
    trial.set("b", "second")
    // Which of the files SQLite has missed first is its own affair.
    let failure = try #require(await trial.flush())
    #expect([.readOnly, .cannotOpen].contains(failure.code))
    #expect(try await trial.store("c").fetch() == "fetched")
    try folder.setReadOnly(false)
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    #expect(trial.log.health == [true, false])
    await trial.close()
    let texts = try await StorageTrial.texts(["a", "b", "c"], in: folder.path)
    #expect(texts == ["a": "first", "b": "second", "c": "fetched"])
  }

  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a file system"))
  func anEmptyFolderForReadingAloneIsNoErrorToWhoOpensAStorageThere() async throws {
    let folder = try MountedFolder(bytes: 4 << 20)
    try folder.setReadOnly(true)
    let trial = try StorageTrial(in: folder.path + "/below")
    #expect(trial.storage.statistics.isDegraded)
    trial.set("a", "text")
    #expect(await trial.text("a") == "text")
    try folder.setReadOnly(false)
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    await trial.close()
    #expect(try await StorageTrial.texts(["a"], in: folder.path + "/below") == ["a": "text"])
  }

  /// As an image that was copied while the file was open.
  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a file system"))
  func aLogOnAFileSystemForReadingAloneIsReadToo() async throws {
    let folder = try MountedFolder(bytes: 4 << 20)
    let scratch = try TemporaryFolder()
    let writer = try StorageTrial(in: scratch.path)
    writer.set("a", "in the log")
    #expect(await writer.flush() == nil)
    try FolderContents.copy(scratch.path, to: folder.path)
    await writer.close()
    #expect(DatabaseFiles().size(of: "\(folder.path)/cache.sqlite-wal") ?? 0 > 0)
    try folder.setReadOnly(true)
    let trial = try StorageTrial(in: folder.path)
    #expect(await trial.text("a") == "in the log")
    #expect(trial.storage.statistics.isDegraded)
    await trial.close()
  }

  /// SQLite reads a WAL by its shm, and makes one if there is none.
  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a file system"))
  func aLogWithoutAnShmOnAFileSystemForReadingAloneIsToldOf() async throws {
    let folder = try MountedFolder(bytes: 4 << 20)
    let scratch = try TemporaryFolder()
    let writer = try StorageTrial(in: scratch.path)
    writer.set("a", "in the log")
    #expect(await writer.flush() == nil)
    try FolderContents.copy(scratch.path, to: folder.path)
    await writer.close()
    try FileManager.default.removeItem(atPath: "\(folder.path)/cache.sqlite-shm")
    try folder.setReadOnly(true)
    let trial = try StorageTrial(in: folder.path)
    #expect(trial.storage.statistics.isDegraded)
    #expect(await trial.text("a") == nil)
    trial.set("b", "new")
    let failure = await trial.flush()
    #expect(failure?.message.contains("cache.sqlite-shm, is missing") == true, "\(failure as Any)")
    try folder.setReadOnly(false)
    await trial.log.recovery()
    #expect(await trial.text("a") == "in the log")
    #expect(await trial.close() == nil)
  }

  @Test func aDiskThatTakesNoWritesIsToldAndTriedAgain() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    vfs.fail(.changes, nth: 1, persistently: true, with: 8)
    trial.set("a", "text")
    #expect(await trial.flush()?.code == .readOnly)
    await trial.log.degradation()
    vfs.disarm()
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    #expect(trial.log.health == [true, false])
    await trial.close()
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": "text"])
  }

  @Test func aFileInTheWayOfTheFolderIsToldAndTriedAgain() async throws {
    let parent = try TemporaryFolder()
    let folder = "\(parent.path)/cache/below"
    #expect(FileManager.default.createFile(atPath: "\(parent.path)/cache", contents: Data([1])))
    let trial = try StorageTrial(in: folder)
    #expect(trial.storage.statistics.isDegraded)
    trial.set("a", "text")
    #expect(await trial.flush()?.code == .cannotOpen)
    #expect(FileManager.default.contents(atPath: "\(parent.path)/cache") == Data([1]))
    try FileManager.default.removeItem(atPath: "\(parent.path)/cache")
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    await trial.close()
    #expect(try await StorageTrial.texts(["a"], in: folder) == ["a": "text"])
  }

  @Test func aFolderInTheWayOfTheFileIsToldAndTriedAgain() async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/cache.sqlite"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let trial = try StorageTrial(in: folder.path)
    #expect(trial.storage.statistics.isDegraded)
    trial.set("a", "text")
    try FileManager.default.removeItem(atPath: path)
    await trial.log.recovery()
    #expect(await trial.flush() == nil)
    await trial.close()
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": "text"])
  }

  /// In both cases the cache is lost, and nothing of it goes into the new file.
  @Test(arguments: [true, false])
  func whoRemovesTheFilesOfAnOpenStorageCostsTheCacheAlone(_ isFolderRemoved: Bool) async throws {
    let parent = try TemporaryFolder()
    let folder = "\(parent.path)/cache"
    let trial = try StorageTrial(in: folder)
    trial.set("old", "old")
    #expect(await trial.flush() == nil)
    if isFolderRemoved {
      Self.remove(folder)
    } else {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
        try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
    }
    trial.set("new", "new")
    #expect(await trial.flush() == nil)
    #expect(await trial.text("new") == "new")
    await trial.log.health(count: 2)
    #expect(trial.log.health == [true, false])
    await trial.close()
    let texts = try await StorageTrial.texts(["old", "new"], in: folder)
    #expect(texts == ["new": "new"])
    let connection = try DatabaseOpener(kind: .cache, folder: folder).openWriter()
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
    let rows = try connection.rowsOfText("SELECT partition, identity, revision FROM entries")
    #expect(rows.count == 1, "\(rows)")
    try connection.close()
  }

  /// The file system gives the number of a folder that was removed to one that is made later.
  @Test func aFolderThatIsMadeAfterOneWasRemovedHasFilesOfItsOwn() async throws {
    let parent = try TemporaryFolder()
    let removed = "\(parent.path)/removed"
    let first = try StorageTrial(in: removed)
    first.set("first", "text")
    #expect(await first.flush() == nil)
    Self.remove(removed)
    // Makes the folder again, and closes the files of the old one.
    first.set("first", "again")
    #expect(await first.flush() == nil)
    for number in 0..<20 {
      let folder = "\(parent.path)/\(number)"
      let trial = try StorageTrial(in: folder)
      trial.set("own", "text")
      #expect(await trial.flush() == nil)
      await trial.close()
      #expect(try await StorageTrial.texts(["first", "own"], in: folder) == ["own": "text"])
      #expect(FileManager.default.fileExists(atPath: "\(folder)/cache.sqlite"))
    }
    await first.close()
    #expect(try await StorageTrial.texts(["first", "own"], in: removed) == ["first": "again"])
  }

  /// Removes a folder of an open storage, which may still be writing beside its files as it is emptied.
  private static func remove(_ folder: String) {
    while FileManager.default.fileExists(atPath: folder) {
      try? FileManager.default.removeItem(atPath: folder)
    }
  }

  /// A new file gives other accounts the numbers that these had in the old one.
  @Test func accountsAreNotMixedWhenTheFilesAreRemoved() async throws {
    let folder = try TemporaryFolder()
    let alice = try StorageTrial(in: folder.path, partition: "alice")
    let bob = try StorageTrial(in: folder.path, partition: "bob")
    alice.set("a", "alice's")
    bob.set("a", "bob's")
    #expect(await alice.flush() == nil)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)")
    }
    // Another process makes the new file.
    let opener = DatabaseOpener(.cache, in: folder)
    let other = try opener.openWriter()
    let tables = try CacheTables(partitionNamed: "bob", on: other)
    _ = try CacheTables(partitionNamed: "alice", on: other)
    let identity = try QueryIdentity(path: NamedText(name: "a").path)
    let entry = StoredEntry(
      kind: "query", coder: "json", version: 1, content: .value(Data(#""bob's new""#.utf8)),
      history: UpdateHistory(valueUpdateCount: 1, valueLastUpdatedAt: Date()))
    try other.write {
      var changes = try tables.begin()
      _ = try changes.write(entry, identity: identity)
      _ = try changes.finish()
    }
    try other.close()
    #expect(await alice.text("a") != "bob's new")
    alice.set("b", "alice's")
    bob.set("b", "bob's")
    #expect(await alice.flush() == nil)
    #expect(await bob.text("b") == "bob's")
    #expect(await alice.text("b") == "alice's")
    #expect(await bob.text("a") == "bob's new")
    await alice.close()
    await bob.close()
  }

  @Test func anAccountThatIsClosedWhileNothingCanBeWrittenIsInNobodysWay() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    vfs.fail([.open], nth: 1, persistently: true, with: 14)
    let alice = try StorageTrial(in: folder.path, vfs: vfs, partition: "alice")
    let bob = try StorageTrial(in: folder.path, vfs: vfs, partition: "bob")
    alice.set("a", "alice's")
    #expect(await alice.close() != nil)
    bob.set("a", "bob's")
    vfs.disarm()
    await bob.log.recovery()
    #expect(await bob.flush() == nil)
    await bob.close()
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == [:])
    let reopened = try StorageTrial(in: folder.path, partition: "bob")
    #expect(await reopened.text("a") == "bob's")
    await reopened.close()
  }
}
