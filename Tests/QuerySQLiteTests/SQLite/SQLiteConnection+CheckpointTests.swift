import Foundation
import Query
import StorageTestSupport
import Synchronization
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct SQLiteConnectionCheckpointTests {
  private let folder: TemporaryFolder
  private let connection: SQLiteConnection
  private var walSize: Int? { DatabaseFiles().size(of: "\(self.connection.path)-wal") }

  init() throws {
    self.folder = try TemporaryFolder()
    self.connection = try .scratch(in: self.folder)
    for text in ["a", "b"] {
      try self.connection.write { try self.connection.execute(Scratch.insert, text) }
    }
  }

  @Test func fullCopiesAll() throws {
    let frames = self.connection.walFrames
    let result = try self.connection.checkpoint(.full)
    #expect(result == .init(isComplete: true, walFrames: frames, copiedFrames: frames))
    #expect(self.connection.walFrames == frames)
  }

  @Test func restartBeginsTheWALAgainAndKeepsItsSize() throws {
    let size = self.walSize
    #expect(try self.connection.checkpoint(.restart).isComplete)
    #expect(self.connection.walFrames == 0)
    #expect(self.walSize == size)
    try self.connection.write { try self.connection.execute(Scratch.insert, "c") }
    #expect(self.connection.walFrames < 4)
    #expect(self.walSize == size)
    #expect(try self.connection.texts() == ["a", "b", "c"])
  }

  @Test func truncateEmptiesTheWAL() throws {
    #expect(try self.connection.checkpoint(.truncate).isComplete)
    #expect(self.walSize == 0)
    #expect(self.connection.walFrames == 0)
  }

  @Test func aConnectionThatHasNotReadYetDoesIt() throws {
    let other = try SQLiteConnection(path: self.connection.path)
    let result = try other.checkpoint(.full)
    #expect(result.copiedFrames == self.connection.walFrames)
  }

  @Test func withoutAWALItIsAMisuse() throws {
    let path = "\(self.folder.path)/other.sqlite"
    try DatabaseFiles().makeFile(path)
    let other = try SQLiteConnection(path: path)
    let error = #expect(throws: StorageError.self) { try other.checkpoint(.full) }
    #expect(error?.code == .misuse)
  }

  @Test func aReaderOfAnOldStateIsWaitedFor() async throws {
    let reader = try SQLiteConnection.scratch(in: self.folder)
    try reader.pragma("BEGIN")
    #expect(try reader.texts() == ["a", "b"])
    try self.connection.write { try self.connection.execute(Scratch.insert, "c") }
    let path = self.connection.path
    let results = Recorder<Bool>()
    let thread = Thread {
      let other = try? SQLiteConnection(path: path)
      results.append((try? other?.checkpoint(.restart).isComplete) == true)
    }
    thread.start()
    // It holds the write lock while it waits, so it is there once nobody else can write.
    self.connection.busyHandler.patience = .limited(.zero)
    while (try? self.connection.write {}) != nil { await Task.yield() }
    #expect(results.elements == [])
    try reader.pragma("COMMIT")
    await results.wait(forCount: 1)
    #expect(results.elements == [true])
  }

  @Test func aWaitThatIsGivenUpHasCopiedNothing() throws {
    let reader = try SQLiteConnection.scratch(in: self.folder)
    try reader.pragma("BEGIN")
    #expect(try reader.texts() == ["a", "b"])
    try self.connection.write { try self.connection.execute(Scratch.insert, "c") }
    let before = try Data(contentsOf: URL(filePath: self.connection.path))
    let error = #expect(throws: StorageError.self) {
      try self.connection.checkpoint(.truncate, patience: .milliseconds(20))
    }
    #expect(error?.code == .interrupted)
    #expect(error?.operation == "checkpoint")
    #expect(try Data(contentsOf: URL(filePath: self.connection.path)) == before)
    // The connection is as good as before, and as patient.
    #expect(self.connection.busyHandler.patience == .limited(self.connection.options.busyTimeout))
    try reader.pragma("COMMIT")
    #expect(try self.connection.checkpoint(.truncate, patience: .seconds(60)).isComplete)
    #expect(try self.connection.texts() == ["a", "b", "c"])
  }

  @Test func aWriterThatStaysIsNotOvertakenByAPassiveCheckpoint() throws {
    let writer = try SQLiteConnection.scratch(in: self.folder)
    let before = try Data(contentsOf: URL(filePath: self.connection.path))
    try writer.write {
      let error = storageError {
        _ = try self.connection.checkpoint(.full, patience: .milliseconds(20))
      }
      #expect(error?.code == .interrupted)
    }
    #expect(try Data(contentsOf: URL(filePath: self.connection.path)) == before)
  }

  @Test func oneThatGivesWayLeavesAReaderAloneAndTheWritersToo() throws {
    let reader = try SQLiteConnection.scratch(in: self.folder)
    try reader.pragma("BEGIN")
    #expect(try reader.texts() == ["a", "b"])
    try self.connection.write { try self.connection.execute(Scratch.insert, "c") }
    let before = try Data(contentsOf: URL(filePath: self.connection.path))
    #expect(try self.connection.checkpointGivingWay(.restart).outcome == .blocked)
    #expect(try Data(contentsOf: URL(filePath: self.connection.path)) == before)
    // Nobody has the lock any more.
    let writer = try SQLiteConnection.scratch(in: self.folder)
    writer.busyHandler.patience = .limited(.zero)
    try writer.write { try writer.execute(Scratch.insert, "d") }
    try reader.pragma("COMMIT")
    #expect(try self.connection.checkpointGivingWay(.restart).outcome == .complete)
    #expect(self.connection.walFrames == 0)
    #expect(try self.connection.texts() == ["a", "b", "c", "d"])
  }

  @Test func aReaderOfTheNewestStateKeepsTheWALFromBeginningAnewToo() throws {
    let reader = try SQLiteConnection.scratch(in: self.folder)
    try reader.pragma("BEGIN")
    #expect(try reader.texts() == ["a", "b"])
    #expect(try self.connection.checkpointGivingWay(.restart).outcome == .blocked)
    try reader.pragma("COMMIT")
  }

  @Test func ofAWriterInTheWayItIsNotSaidThatItReads() throws {
    let writer = try SQLiteConnection.scratch(in: self.folder)
    try writer.write {
      let outcome = try self.connection.checkpointGivingWay(.restart).outcome
      #expect(outcome == .busy)
    }
    #expect(try self.connection.checkpointGivingWay(.restart).outcome == .complete)
  }
}
