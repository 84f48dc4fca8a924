import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// What somebody has put into the folder in the place of a file: nobody waits for a FIFO, nothing is
/// written through a link, and what cannot work says so.
@Suite(.serialized) struct HostileFilesTests {
  enum Thing: String, CaseIterable, CustomTestStringConvertible {
    case fifo, folder, device, link, danglingLink

    var testDescription: String { self.rawValue }

    /// Puts it at a path.
    func make(at path: String, victim: String) throws {
      switch self {
      case .fifo: #expect(mkfifo(path, 0o600) == 0)
      case .folder: #expect(mkdir(path, 0o700) == 0)
      case .device: try #require(symlink("/dev/full", path) == 0)
      case .link: #expect(symlink(victim, path) == 0)
      case .danglingLink: #expect(symlink("\(victim).none", path) == 0)
      }
    }
  }

  private static let names = [
    "cache.kick", "mutations.kick", "cache.lock", "mutations.lock", "owners", "bodies",
    "cache.sqlite-wal", "mutations.sqlite-wal", "cache.sqlite-shm", "mutations.sqlite-shm",
    "cache.sqlite-journal", "mutations.sqlite-journal",
  ]

  @Test(arguments: Self.names, Thing.allCases)
  func nothingInThePlaceOfAFileStopsAProgram(_ name: String, _ thing: Thing) async throws {
    if thing == .folder, ["owners", "bodies"].contains(name) { return }
    let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
    let first = try OutboxScratch(in: folder)
    try await first.add()
    try await first.storage.set(["a": "text"])
    try await first.storage.close()
    let victim = "\(other.path)/victim"
    try Data("victim".utf8).write(to: URL(filePath: victim))
    let path = "\(folder.path)/\(name)"
    try? FileManager.default.removeItem(atPath: path)
    try thing.make(at: path, victim: victim)
    let trial = try StorageTrial(in: folder.path)
    trial.set("b", "text")
    _ = await trial.flush()
    let mutation = OutboxScratch.mutation()
    do {
      let new = try await trial.storage.outbox.enqueue(mutation, claiming: true)
      if let lease = new.lease {
        _ = try await trial.storage.outbox.settle(lease, OutboxScratch.success)
      }
    } catch {
      #expect(error is StorageError)
    }
    #expect(await trial.text("b") == "text")
    await trial.close()
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "victim")
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["victim"])
  }

  @Test(arguments: ["cache.sqlite", "mutations.sqlite"], [Thing.fifo, .folder, .device])
  func whatIsNoFileInThePlaceOfADatabaseIsToldAndTriedAgain(
    _ name: String, _ thing: Thing
  ) async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/\(name)"
    try thing.make(at: path, victim: "")
    let trial = try StorageTrial(in: folder.path)
    trial.set("a", "text")
    if name == "cache.sqlite" {
      #expect(await trial.flush()?.code == .cannotOpen)
    } else {
      let error = await storageError {
        _ = try await trial.storage.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
      }
      #expect(error?.code == .cannotOpen)
      let second = storageError { _ = try trial.storage.outbox.entries(in: nil) }
      #expect(second?.code == .cannotOpen)
    }
    #expect(trial.storage.statistics.isDegraded)
    unlink(path)
    rmdir(path)
    await trial.log.recovery()
    await trial.close()
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": "text"])
  }

  /// A person may keep the file somewhere else.
  @Test func aDatabaseMayBeALinkToAFile() async throws {
    let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
    #expect(
      symlink("\(other.path)/cache.sqlite", "\(folder.path)/cache.sqlite") == 0)
    try Data().write(to: URL(filePath: "\(other.path)/cache.sqlite"))
    let trial = try StorageTrial(in: folder.path)
    trial.set("a", "text")
    #expect(await trial.close() == nil)
    #expect(try await StorageTrial.texts(["a"], in: folder.path) == ["a": "text"])
  }

  /// The WAL would be beside the target, and what is acknowledged in it no part of a salvage.
  @Test func mutationsAreNotKeptBehindALink() async throws {
    let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
    let first = try OutboxScratch(in: other)
    let id = try await first.add()
    try await first.storage.close()
    #expect(
      symlink("\(other.path)/mutations.sqlite", "\(folder.path)/mutations.sqlite") == 0)
    let error = storageError {
      _ = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message.contains("link its folder") == true)
    // As it says.
    #expect(symlink(other.path, "\(folder.path)/linked") == 0)
    let next = try SQLiteQueryStorage(directory: URL(filePath: "\(folder.path)/linked"))
    #expect(try next.outbox.entries().map(\.id) == [id])
    try await next.close()
  }

  /// If no process can wake the others, each finds changes by polling.
  @Test func withoutAKickOthersAreSeenAllTheSame() async throws {
    let folder = try TemporaryFolder()
    try Thing.fifo.make(at: "\(folder.path)/cache.kick", victim: "")
    let trial = try StorageTrial(in: folder.path)
    let worker = try WorkerProcess("write", folder.path, "w", "1", "1", "10", "1")
    _ = await worker.finish()
    await trial.log.wait { if case .changedByAnotherProcess = $0 { true } else { false } }
    await trial.close()
  }

  /// `bodies` is swept: a link there would lead to somebody's files.
  @Test func noFileOfAFolderThatALinkLeadsToIsRemoved() async throws {
    let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
    let old = "\(other.path)/old"
    try Data("old".utf8).write(to: URL(filePath: old))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: old)
    #expect(symlink(other.path, "\(folder.path)/bodies") == 0)
    #expect(symlink(other.path, "\(folder.path)/owners") == 0)
    let owner = "\(other.path)/\(UUID().uuidString)"
    try Data().write(to: URL(filePath: owner))
    let scratch = try OutboxScratch(in: folder)
    try await scratch.add()
    try await scratch.storage.close()
    #expect(FileManager.default.fileExists(atPath: old))
    #expect(FileManager.default.fileExists(atPath: owner))
  }
}
