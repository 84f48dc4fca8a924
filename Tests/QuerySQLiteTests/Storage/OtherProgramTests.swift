import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// The shell of SQLite, with which a person works on the files of a running program.
@Suite(.serialized, .enabled(if: OtherFormatTests.hasShell, "there is no shell of SQLite"))
struct OtherProgramTests {
  /// A shell that has done some statements.
  private static func shell(_ path: String, _ sql: String) async throws -> ChildProcess {
    let shell = try ChildProcess(
      ChildProcess.system("sqlite3") ?? "sqlite3", [path], input: .pipe)
    try shell.write(".timeout 60000\n\(sql);\nSELECT 'done';\n")
    #expect(await shell.line() == "done")
    return shell
  }

  private static func end(_ shell: ChildProcess, _ sql: String) async throws {
    try shell.write("\(sql);\n.quit\n")
    shell.closeInput()
    #expect(await shell.end() == .code(0))
  }

  @Test(arguments: ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
  func whoHoldsTheLockOfTheOutboxKeepsACallerForNoLongerThanTheTimeout(
    _ begin: String
  ) async throws {
    let scratch = try OutboxScratch {
      $0.busyTimeout = .milliseconds(500)
      $0.retryDelay = .milliseconds(5)
    }
    let first = try await scratch.add("first")
    let shell = try await Self.shell(scratch.path, begin)
    let error = await storageError { _ = try await scratch.add("second") }
    #expect(error?.code == .busy)
    #expect(try scratch.outbox.entries().map(\.id) == [first])
    #expect(scratch.storage.statistics.isDegraded)
    try await Self.end(shell, "COMMIT")
    let third = try await scratch.add("third")
    #expect(try scratch.outbox.entries().map(\.id) == [first, third])
    #expect(!scratch.storage.statistics.isDegraded)
    try await scratch.storage.close()
  }

  @Test func aStorageThatIsOpenedWhileTheFilesAreLockedWorksOnceTheyAreFree() async throws {
    let folder = try TemporaryFolder()
    let first = try StorageTrial(in: folder.path)
    let id = try await first.storage.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
      .entry.id
    first.set("a", "text")
    #expect(await first.close() == nil)
    var shells = [ChildProcess]()
    for kind in DatabaseKind.allCases {
      shells.append(try await Self.shell("\(folder.path)/\(kind.fileName)", "BEGIN IMMEDIATE"))
    }
    let trial = try StorageTrial(in: folder.path) { $0.busyTimeout = .milliseconds(50) }
    trial.set("b", "new")
    #expect(await trial.flush()?.code == .busy)
    let error = await storageError {
      _ = try await trial.storage.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
    }
    #expect(error?.code == .busy)
    #expect(await trial.text("b") == "new")
    for shell in shells { try await Self.end(shell, "COMMIT") }
    await trial.log.recovery()
    _ = try await trial.storage.outbox.enqueue(OutboxScratch.mutation(), claiming: false)
    #expect(try trial.storage.outbox.entries().first?.id == id)
    #expect(await trial.close() == nil)
    let texts = try await StorageTrial.texts(["a", "b"], in: folder.path)
    #expect(texts == ["a": "text", "b": "new"])
  }

  /// What is changed by hand is not what was enqueued.
  @Test func aRowThatIsChangedUnderARunningProcessIsNotSent() async throws {
    let scratch = try OutboxScratch()
    let first = try await scratch.add("first", lane: "lane")
    let second = try await scratch.add("second", lane: "lane")
    let third = try await scratch.add("third")
    let shell = try await Self.shell(
      scratch.path, "UPDATE outbox SET arguments = CAST('changed' AS BLOB) WHERE number = 3")
    try await Self.end(shell, "SELECT 1")
    #expect(try scratch.outbox.entries().map(\.id) == [first, second, third])
    #expect(try await scratch.claim(10).map(\.entry.id) == [first])
    #expect(try scratch.outbox.entry(third)?.deadReason == .undecodable)
    try await scratch.storage.close()
  }

  @Test func aRowThatIsDeletedUnderARunningProcessIsMissed() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add("first")
    try await scratch.add("second")
    let shell = try await Self.shell(scratch.path, "DELETE FROM outbox WHERE number = 1")
    try await Self.end(shell, "SELECT 1")
    let error = storageError { _ = try scratch.outbox.entries() }
    #expect(error?.code == .corrupt)
    #expect(error?.message.contains("1 of 2 mutations") == true)
    try await scratch.storage.close()
  }
}
