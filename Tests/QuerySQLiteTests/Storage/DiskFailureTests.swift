import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: a disk that fails to read once has not damaged the file. SQLite says that it has.
@Suite struct DiskFailureTests {
  @Test func whatTheDiskFailsToReadIsNoDamage() throws {
    let folder = try TemporaryFolder()
    let first = try SQLiteConnection.scratch(in: folder)
    try first.write { try first.execute(Scratch.insert, "a") }
    try first.close()
    let vfs = FaultVFS()
    var options = SQLiteConnection.Options()
    options.vfs = vfs.name
    let connection = try SQLiteConnection(path: first.path, options: options)
    _ = try connection.pragma("PRAGMA schema_version")
    vfs.fail([.read], nth: 1, persistently: true, with: FaultVFS.diskFailure)
    let error = #expect(throws: StorageError.self) { try connection.texts() }
    #expect(error?.code == .inputOutput)
    vfs.disarm()
    try connection.close()
  }

  @Test(arguments: 1...60)
  func aCacheThatCannotBeReadOnceKeepsItsValues(_ nth: Int) async throws {
    let folder = try TemporaryFolder()
    let names = (0..<20).map { "\($0)" }
    let first = try StorageTrial(in: folder.path)
    for name in names { first.set(name, String(repeating: name, count: 300)) }
    #expect(await first.close() == nil)
    let vfs = FaultVFS()
    vfs.fail([.read], nth: nth, with: FaultVFS.diskFailure)
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    for name in names { _ = await trial.text(name) }
    trial.set("new", "new")
    // One flush may meet the failure; what it has not written waits for the next one.
    if await trial.flush() != nil { await trial.recover() }
    #expect(await trial.flush() == nil)
    await trial.close()
    #expect(try FolderContents.setAside("corrupt", in: folder.path) == [])
    let texts = try await StorageTrial.texts(names, in: folder.path)
    #expect(texts.count == 20)
  }

  @Test(arguments: 1...60)
  func anOutboxThatCannotBeReadOnceIsNotSetAside(_ nth: Int) async throws {
    let first = try OutboxScratch()
    for number in 0..<20 { try await first.add("\(number)") }
    try await first.storage.close()
    let vfs = FaultVFS()
    vfs.fail([.read], nth: nth, with: FaultVFS.diskFailure)
    let second = try OutboxScratch(in: first.folder) {
      $0.vfs = vfs.name
      $0.retryDelay = .milliseconds(5)
    }
    for number in 20..<25 { _ = try? await second.add("\(number)") }
    _ = try? second.outbox.entries()
    vfs.disarm()
    try await second.storage.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: first.folder.path)
    #expect(!names.contains { $0.contains("corrupt") }, "\(names)")
    let third = try OutboxScratch(in: first.folder)
    #expect(try third.outbox.entries().count >= 20)
    try await third.storage.close()
  }
}
