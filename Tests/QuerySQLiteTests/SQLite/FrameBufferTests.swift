import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// The frames of a commit reach the WAL together, and none is missing when SQLite publishes it.
@Suite struct FrameBufferTests {
  private let folder: TemporaryFolder
  private let vfs = FaultVFS()

  init() throws { self.folder = try TemporaryFolder() }

  private func connection() throws -> SQLiteConnection {
    var options = SQLiteConnection.Options()
    options.vfs = self.vfs.name
    return try SQLiteConnection.scratch(in: self.folder, options: options)
  }

  /// What a process finds that opens a copy of the files as they are now.
  private func recovered() throws -> [String] {
    let copy = try TemporaryFolder()
    for name in try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
    where !name.hasSuffix("-shm") {
      try FileManager.default.copyItem(
        atPath: "\(self.folder.path)/\(name)", toPath: "\(copy.path)/\(name)")
    }
    let connection = try SQLiteConnection.scratch(in: copy)
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
    return try connection.texts()
  }

  @Test(arguments: ["FULL", "NORMAL"])
  func aCommitIsWrittenInOneCall(_ durability: String) throws {
    let connection = try self.connection()
    _ = try connection.rowsOfText("PRAGMA synchronous = \(durability)")
    try connection.write { try connection.execute(Scratch.insert, "first") }
    self.vfs.fail(.write, nth: .max, with: 0)
    try connection.write {
      for number in 0..<4 {
        try connection.execute(Scratch.insert, String(repeating: "\(number)", count: 3_000))
      }
    }
    #expect(self.vfs.count(.write) == 1)
    #expect(try self.recovered().count == 5)
    #expect(try SQLiteConnection.scratch(in: self.folder).texts().count == 5)
  }

  @Test func oneThatIsLargerThanTheBufferIsWhole() throws {
    let connection = try self.connection()
    try connection.write {
      for number in 0..<300 {
        try connection.execute(Scratch.insert, "\(number)" + String(repeating: "x", count: 2_000))
      }
    }
    #expect(try self.recovered().count == 300)
    #expect(try SQLiteConnection.scratch(in: self.folder).texts() == connection.texts())
  }

  @Test(arguments: 1...12)
  func oneThatCannotBeWrittenIsNowhere(_ nth: Int) throws {
    let connection = try self.connection()
    try connection.write { try connection.execute(Scratch.insert, "kept") }
    self.vfs.fail(.write, nth: nth, with: 13)
    var failure: (any Error)?
    do {
      try connection.write {
        for number in 0..<60 {
          try connection.execute(Scratch.insert, "\(number)" + String(repeating: "x", count: 3_000))
        }
      }
    } catch {
      failure = error
    }
    self.vfs.disarm()
    #expect(failure != nil || nth > 4)
    if let failure {
      #expect((failure as? StorageError)?.code == .full)
      #expect(try connection.texts() == ["kept"])
      #expect(try self.recovered() == ["kept"])
    } else {
      #expect(try connection.texts().count == 61)
    }
    try connection.write { try connection.execute(Scratch.insert, "after") }
    #expect(try self.recovered().last == "after")
    #expect(try SQLiteConnection.scratch(in: self.folder).texts() == connection.texts())
  }

  /// Small caches write frames in the middle of a transaction, and correct their checksums in `COMMIT`;
  /// rollbacks and other connections leave frames that the next ones overwrite.
  @Test(arguments: 1...6)
  func whatASecondConnectionFindsIsWhatWasCommitted(_ seed: UInt64) throws {
    struct Stop: Error {}
    var random = SeededGenerator(seed: seed)
    let connections = [try self.connection(), try self.connection()]
    for connection in connections {
      try connection.pragma("PRAGMA cache_size = 3")
      if seed.isMultiple(of: 2) { try connection.pragma("PRAGMA synchronous = NORMAL") }
    }
    let reader = try SQLiteConnection.scratch(in: self.folder)
    var expected = [String]()
    for round in 0..<40 {
      let writer = connections[Int.random(in: 0...1, using: &random)]
      let (count, length) = (
        Int.random(in: 1...40, using: &random), Int.random(in: 1...5_000, using: &random)
      )
      let isUndone = Int.random(in: 0...3, using: &random) == 0
      let texts = (0..<count).map { "\(round)-\($0)-" + String(repeating: "x", count: length) }
      do {
        try writer.write {
          try writer.execute("SAVEPOINT part")
          for text in texts.prefix(count / 2) { try writer.execute(Scratch.insert, text) }
          try writer.execute("ROLLBACK TO part")
          try writer.execute("RELEASE part")
          for text in texts { try writer.execute(Scratch.insert, text) }
          try writer.execute("UPDATE texts SET text = text || '.' WHERE rowid % 7 = 0")
          if isUndone { throw Stop() }
        }
        expected = try writer.texts()
      } catch is Stop {
      }
      #expect(try reader.texts() == expected)
      if round % 5 == 0 { #expect(try self.recovered() == expected) }
      if round % 11 == 0 { _ = try writer.checkpoint(.restart) }
    }
    #expect(expected.count > 100)
    #expect(try self.recovered() == expected)
  }
}
