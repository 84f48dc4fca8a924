import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// A process that only reads, and whose files another process deletes or replaces: it goes on with
/// those that are there now.
@Suite struct ReplacedFileTests {
  @Test(arguments: [true, false])
  func aProcessThatOnlyReadsFollowsToTheNewFile(_ isFolderMoved: Bool) async throws {
    let parent = try TemporaryFolder()
    let folder = "\(parent.path)/store"
    let trial = try StorageTrial(in: folder)
    trial.set("a", "old")
    #expect(await trial.flush() == nil)
    if isFolderMoved {
      try FileManager.default.moveItem(atPath: folder, toPath: "\(parent.path)/moved")
    } else {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
        try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
    }
    let worker = try WorkerProcess("write", folder, "w", "3", "1", "10", "1")
    _ = await worker.finish()
    let event = await trial.log.wait {
      if case .changedByAnotherProcess = $0 { true } else { false }
    }
    guard case .changedByAnotherProcess(let identity)? = event else { return }
    let reading = await trial.storage.database.readLater(identity, in: trial.storage.partition)
    guard case .entry = reading else {
      Issue.record("\(reading)")
      return
    }
    await trial.close()
  }
}
