import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct LogKeeperTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  private func writer(_ kind: DatabaseKind) throws -> SQLiteConnection {
    try DatabaseOpener(kind: kind, folder: self.folder.path).openWriter()
  }

  private func keeper(_ kind: DatabaseKind, frameLimit: Int) -> LogKeeper {
    LogKeeper(kind: kind, folder: self.folder.path, frameLimit: frameLimit)
  }

  private func commit(_ connection: SQLiteConnection, _ name: String) throws {
    try connection.write { try connection.execute(PartitionRow.insert, name) }
  }

  @Test(arguments: DatabaseKind.allCases)
  func aLongWALIsCheckpointedAndAShortOneIsScheduled(_ kind: DatabaseKind) throws {
    let connection = try self.writer(kind)
    defer { try? connection.close() }
    var log = self.keeper(kind, frameLimit: 1_000)
    try self.commit(connection, "a")
    try log.didCommit(connection)
    #expect(connection.walFrames > 0 && log.due != nil)
    var short = self.keeper(kind, frameLimit: 1)
    try short.didCommit(connection)
    #expect(connection.walFrames == 0 && short.due == nil && !short.isBlocked)
    // Of the outbox nothing stays that could be read again.
    #expect(try connection.isWALEmpty == (kind == .mutations))
  }

  @Test func oneThatIsLeftComesNextAndASecondOneAtOnce() throws {
    let connection = try self.writer(.cache)
    defer { try? connection.close() }
    var log = self.keeper(.cache, frameLimit: 1)
    log.leavesCheckpoints = true
    try self.commit(connection, "a")
    try log.didCommit(connection)
    let due = try #require(log.due)
    #expect(log.isLeft && connection.walFrames > 0 && due <= .now)
    try self.commit(connection, "b")
    try log.didCommit(connection)
    #expect(!log.isLeft && connection.walFrames == 0 && log.due == nil)
    try self.commit(connection, "c")
    try log.didCommit(connection)
    log.leavesCheckpoints = false
    try log.checkpointIfDue(connection, .now)
    #expect(!log.isLeft && connection.walFrames == 0)
  }

  @Test func aReaderInTheWayIsNotWaitedFor() async throws {
    let connection = try self.writer(.cache)
    defer { try? connection.close() }
    var log = self.keeper(.cache, frameLimit: 1_000)
    try self.commit(connection, "a")
    let reader = try DatabaseOpener(.cache, in: self.folder).openReader()
    try await reader.reading {
      try self.commit(connection, "b")
      try log.checkpoint(connection)
      #expect(log.isBlocked && log.due != nil)
    }
    try reader.close()
    try log.checkpoint(connection)
    #expect(!log.isBlocked && connection.walFrames == 0)
  }

  @Test func itIsCheckpointedWhenItIsTime() throws {
    let connection = try self.writer(.cache)
    defer { try? connection.close() }
    var log = self.keeper(.cache, frameLimit: 1_000)
    try self.commit(connection, "a")
    try log.didCommit(connection)
    let due = try #require(log.due)
    try log.checkpointIfDue(connection, due - .milliseconds(1))
    #expect(connection.walFrames > 0)
    try log.checkpointIfDue(nil, due)
    #expect(connection.walFrames > 0)
    try log.checkpointIfDue(connection, due)
    #expect(connection.walFrames == 0)
  }
}
