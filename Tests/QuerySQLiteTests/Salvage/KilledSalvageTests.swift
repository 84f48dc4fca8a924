import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// A process that is killed at any step of a salvage leaves one that the next opening finishes, once.
@Suite(.serialized) struct KilledSalvageTests {
  private static let step = ProcessInfo.processInfo.environment["FULL"] == nil ? 23 : 1

  private let outbox: DamagedOutbox

  init() async throws { self.outbox = try await DamagedOutbox(rows: 8, isKilled: false) }

  /// A folder with a damaged outbox, closed.
  private func damaged() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    var bytes = self.outbox.file
    bytes[100] ^= 8
    try Data(bytes).write(to: URL(filePath: "\(folder.path)/mutations.sqlite"))
    return folder
  }

  /// Takes the lock under which the file of a folder is set aside.
  private func lockedForSettingAside(
    _ folder: TemporaryFolder
  ) throws -> (lock: FileLock, files: SetAside, name: SetAside.Name) {
    let lock = FileLock(kind: .mutations, folder: folder.path)
    #expect(try lock.tryExclusive())
    let files = SetAside(kind: .mutations, folder: folder.path)
    return (lock, files, try files.freeName(for: .corrupt))
  }

  private func expectAll(
    in folder: TemporaryFolder, _ comment: Comment
  ) async throws {
    for _ in 1...2 {
      let outcome = try await DamagedOutbox.open(folder)
      #expect(outcome.errors == [] && outcome.dead == [], comment)
      #expect(outcome.texts == self.outbox.texts, comment)
      #expect(!OutboxSalvage.isPending(in: folder.path), comment)
    }
    let connection = try SQLiteConnection(path: "\(folder.path)/mutations.sqlite")
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok", comment)
    #expect(
      try connection.pragma("SELECT count(*) - count(DISTINCT arguments || id) FROM outbox") == "0",
      comment)
    try connection.close()
  }

  @Test func whatIsSetAsideIsSalvagedFromEachStepOn() async throws {
    for count in 0...10 {
      let folder = try self.damaged()
      let (lock, files, name) = try self.lockedForSettingAside(folder)
      try OutboxSalvage(folder: folder.path, now: OutboxClock.system.now()).begin(name)
      let steps = files.linkingSteps(to: name)
      guard count <= steps.count else { break }
      for step in steps.prefix(count) { #expect(files.perform(step) == 0) }
      lock.unlock()
      try await self.expectAll(in: folder, "killed after step \(count)")
    }
  }

  /// The rows are committed, and the note is there: since the process was killed, or since a power cut has
  /// brought it back after others were enqueued.
  @Test func aNoteThatComesBackDoesNoHarm() async throws {
    let folder = try self.damaged()
    try await self.expectAll(in: folder, "salvaged")
    let files = SetAside(kind: .mutations, folder: folder.path)
    let name = try #require(try files.names().first)
    for line in ["\(name.fileName(of: .mutations))\n", ""] {
      try Data(line.utf8).write(to: URL(filePath: OutboxSalvage.notePath(in: folder.path)))
      try await self.expectAll(in: folder, "the note says \"\(line)\"")
    }
  }

  /// The note was created, and the power went before its text was on the disk.
  @Test func aNoteWithoutATextIsOfTheNewestFile() async throws {
    let folder = try self.damaged()
    let (lock, files, name) = try self.lockedForSettingAside(folder)
    for step in files.linkingSteps(to: name) { #expect(files.perform(step) == 0) }
    try Data().write(to: URL(filePath: OutboxSalvage.notePath(in: folder.path)))
    lock.unlock()
    try await self.expectAll(in: folder, "the note is empty")
  }

  /// A release that knew nothing of the note has made the new file, and used it.
  @Test func whatWasEnqueuedBetweenIsKept() async throws {
    let folder = try self.damaged()
    let (lock, files, name) = try self.lockedForSettingAside(folder)
    try files.run(.corrupt, as: name, holding: lock)
    lock.unlock()
    #expect(try await DamagedOutbox.open(folder).texts == [:])
    try OutboxSalvage(folder: folder.path, now: OutboxClock.system.now()).begin(name)
    try await self.expectAll(in: folder, "others are there")
  }

  @Test func whoIsKilledAtAnyWriteLosesNothing() async throws {
    var nth = 1
    var wasKilled = true
    while wasKilled, nth < 400 {
      let folder = try self.damaged()
      let result = await #expect(
        processExitsWith: .failure, observing: [\.exitStatus]
      ) { [path = folder.path as String, nth = nth as Int] in
        let vfs = FaultVFS()
        vfs.kill(.changes, nth: nth)
        var configuration = SQLiteQueryStorage.Configuration()
        configuration.vfs = vfs.name
        let outbox = try SQLiteOutbox(
          folder: path, partition: "", configuration,
          OutboxPartition.Hooks(
            tell: { _ in }, invalidate: { _, _, done in done(true) },
            missing: { _, done in done([]) }, show: { _ in }))
        _ = try? outbox.entries()
        exit(7)
      }
      wasKilled = result?.exitStatus == .signal(SIGKILL)
      try await self.expectAll(in: folder, "killed at write \(nth)")
      nth += Self.step
    }
    #expect(nth > 40)
  }
}
