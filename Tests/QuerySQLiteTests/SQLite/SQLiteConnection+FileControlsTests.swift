import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct SQLiteConnectionFileControlsTests {
  private let folder: TemporaryFolder
  private let connection: SQLiteConnection
  private var wal: String { "\(self.connection.path)-wal" }

  init() throws {
    self.folder = try TemporaryFolder()
    self.connection = try .scratch(in: self.folder)
  }

  @Test func aFileThatIsRenamedOrDeletedHasMoved() throws {
    #expect(try !self.connection.hasMoved)
    let other = "\(self.folder.path)/other.sqlite"
    try FileManager.default.moveItem(atPath: self.connection.path, toPath: other)
    #expect(try self.connection.hasMoved)
    try FileManager.default.moveItem(atPath: other, toPath: self.connection.path)
    #expect(try !self.connection.hasMoved)
    try FileManager.default.removeItem(atPath: self.connection.path)
    #expect(try self.connection.hasMoved)
    try DatabaseFiles().makeFile(self.connection.path)
    #expect(try self.connection.hasMoved)
  }

  @Test func aWALThatIsKeptStaysWithItsSize() throws {
    try self.connection.keepWAL()
    try self.connection.extendWAL(to: 262_144)
    try self.connection.write { try self.connection.execute(Scratch.insert, "a") }
    try self.connection.close()
    #expect(DatabaseFiles().size(of: self.wal) == 262_144)
    let again = try SQLiteConnection.scratch(in: self.folder)
    #expect(try again.texts() == ["a"])
  }

  @Test func zerosInTheWALAreNoCommitsAndWholeBlocks() throws {
    try self.connection.write { try self.connection.execute(Scratch.insert, "a") }
    try self.connection.extendWAL(to: 262_144)
    var status = stat()
    #expect(stat(self.wal, &status) == 0)
    #expect(status.st_size == 262_144)
    #expect(status.st_blocks * 512 >= 262_144)
    try self.connection.extendWAL(to: 4_096)
    #expect(DatabaseFiles().size(of: self.wal) == 262_144)
    let reader = try SQLiteConnection.scratch(in: self.folder)
    #expect(try reader.texts() == ["a"])
    try self.connection.write { try self.connection.execute(Scratch.insert, "b") }
    #expect(try reader.texts() == ["a", "b"])
    #expect(try reader.pragma("PRAGMA integrity_check") == "ok")
  }

  @Test func aNewWALOfZerosAloneIsRead() throws {
    #expect(try self.connection.checkpoint(.truncate).isComplete)
    try self.connection.extendWAL(to: 65_536)
    let reader = try SQLiteConnection.scratch(in: self.folder)
    #expect(try reader.texts() == [])
    try reader.write { try reader.execute(Scratch.insert, "a") }
    #expect(try self.connection.texts() == ["a"])
    #expect(DatabaseFiles().size(of: self.wal) == 65_536)
  }

  @Test func commitsFindRoomInTheWALOnAFullDisk() throws {
    let vfs = FaultVFS()
    var options = SQLiteConnection.Options()
    options.vfs = vfs.name
    let connection = try SQLiteConnection.scratch(in: self.folder, options: options)
    _ = try connection.checkpoint(.truncate)
    // No room: the extension says so and harms nothing.
    vfs.fail(.grow, nth: 3, persistently: true, with: 13)
    let error = #expect(throws: StorageError.self) { try connection.extendWAL(to: 262_144) }
    #expect(error?.code == .full)
    vfs.disarm()
    try connection.extendWAL(to: 262_144)
    vfs.fail(.grow, nth: 1, persistently: true, with: 13)
    for number in 0..<20 {
      try connection.write { try connection.execute(Scratch.insert, "\(number)") }
    }
    #expect(vfs.failures == 1)
    #expect(try connection.texts().count == 20)
  }

  @Test func writtenPagesAreTheFramesOfTheWAL() throws {
    #expect(try self.connection.checkpoint(.truncate).isComplete)
    let before = try self.connection.writtenPages
    try self.connection.write { try self.connection.execute(Scratch.insert, "a") }
    let pages = try self.connection.writtenPages - before
    #expect(pages == self.connection.walFrames)
    #expect(DatabaseFiles().size(of: self.wal) == 32 + pages * (24 + 4_096))
    _ = try self.connection.checkpoint(.full)
    #expect(try self.connection.writtenPages - before == pages)
  }

  @Test func theDataVersionTellsOfOthersAlone() throws {
    let other = try SQLiteConnection.scratch(in: self.folder)
    let before = try self.connection.dataVersion
    try self.connection.write { try self.connection.execute(Scratch.insert, "a") }
    #expect(try self.connection.dataVersion == before)
    try other.write { try other.execute(Scratch.insert, "b") }
    #expect(try self.connection.dataVersion != before)
  }
}
