import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// The WAL of a running program is removed or replaced: what was committed to it is kept, and an event
/// says so.
@Suite struct RemovedLogTests {
  enum Fault: CaseIterable {
    case removed, removedWithTheIndex, replacedByACopy, replacedByAnEmptyFile

    func happen(to path: String) throws {
      let manager = FileManager.default
      switch self {
      case .removed: try manager.removeItem(atPath: path + "-wal")
      case .removedWithTheIndex:
        for suffix in ["-wal", "-shm"] { try manager.removeItem(atPath: path + suffix) }
      case .replacedByACopy:
        try ChildProcess.run("/bin/cp", [path + "-wal", path + "-copy"])
        rename(path + "-copy", path + "-wal")
      case .replacedByAnEmptyFile:
        try Data().write(to: URL(filePath: path + "-empty"))
        rename(path + "-empty", path + "-wal")
      }
    }
  }

  @Test(arguments: Fault.allCases)
  func whatWasCommittedIsKept(_ fault: Fault) async throws {
    let folder = try TemporaryFolder()
    let trial = try StorageTrial(in: folder.path)
    trial.set("a", "before")
    #expect(await trial.flush() == nil)
    var ids = [try await trial.enqueue("before")]
    for kind in DatabaseKind.allCases { try fault.happen(to: "\(folder.path)/\(kind.fileName)") }
    trial.set("b", "after")
    #expect(await trial.flush() == nil)
    ids.append(try await trial.enqueue("after"))
    await trial.log.wait(\.isDegraded)
    // What a killed process leaves.
    let killed = try TemporaryFolder()
    try FolderContents.copy(folder.path, to: killed.path)
    await trial.close()
    let told = trial.log.events.compactMap {
      if case .degraded(let error) = $0 { error.message } else { nil }
    }
    #expect(!told.isEmpty && told.allSatisfy { $0.contains("what it had is in the file") })
    for path in [killed.path, folder.path] {
      let next = try StorageTrial(in: path)
      #expect(await next.text("a") == "before")
      #expect(await next.text("b") == "after")
      #expect(try next.storage.outbox.entries().map(\.id) == ids)
      #expect(await next.close() == nil)
      #expect(try FolderContents.setAside("corrupt", in: path) == [])
    }
  }

  /// The file that had taken the log's place may have what the log had.
  @Test func nothingIsLeftOfAnErasedAccountInTheLogThatWasReplaced() async throws {
    let folder = try TemporaryFolder()
    let trial = try StorageTrial(in: folder.path)
    let secret = "nobody-may-read-this"
    trial.set("a", secret)
    #expect(await trial.flush() == nil)
    _ = try await trial.enqueue(secret)
    for kind in DatabaseKind.allCases {
      try Fault.replacedByACopy.happen(to: "\(folder.path)/\(kind.fileName)")
    }
    trial.set("b", "after")
    #expect(await trial.flush() == nil)
    _ = try await trial.enqueue("after")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.filter { $0.hasSuffix("-wal.replaced") }.count == 2)
    try await trial.storage.erase()
    await trial.close()
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      let data = FileManager.default.contents(atPath: "\(folder.path)/\(name)") ?? Data()
      #expect(data.range(of: Data(secret.utf8)) == nil, "\(name)")
    }
  }
}
