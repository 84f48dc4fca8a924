import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct SetAsideTests {
  private let folder: TemporaryFolder
  private let lock: FileLock
  private var setAside: SetAside

  init() throws {
    self.folder = try TemporaryFolder()
    self.lock = FileLock(kind: .cache, folder: self.folder.path)
    #expect(try self.lock.tryExclusive())
    self.setAside = SetAside(kind: .cache, folder: self.folder.path)
    self.setAside.now = { Date(timeIntervalSince1970: 1_769_860_800) }
  }

  /// The name that a file gets first.
  private static let name = "cache.sqlite.corrupt-20260131T120000Z"

  private var files: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
        .filter { !$0.hasSuffix(".lock") }.sorted()
    }
  }

  private func write(_ text: String, _ name: String) throws {
    try Data(text.utf8).write(to: URL(filePath: "\(self.folder.path)/\(name)"))
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOfFile: "\(self.folder.path)/\(name)", encoding: .utf8)
  }

  private func at(_ seconds: Double) -> SetAside {
    var setAside = self.setAside
    setAside.now = { Date(timeIntervalSince1970: 1_769_860_800 + seconds) }
    return setAside
  }

  // The second one is a file system without hard links.
  @Test(arguments: [0, EPERM, EOPNOTSUPP, EMLINK])
  func theDatabaseGoesWithItsWALAndJournal(_ failure: Int32) throws {
    try self.write("db", "cache.sqlite")
    try self.write("wal", "cache.sqlite-wal")
    try self.write("journal", "cache.sqlite-journal")
    try self.write("shm", "cache.sqlite-shm")
    try self.write("other", "mutations.sqlite")
    var setAside = self.setAside
    if failure != 0 { setAside.link = { _, _ in failure } }
    #expect(try setAside.run(.corrupt, holding: self.lock) == Self.name)
    #expect(
      try self.files == [
        Self.name, "\(Self.name)-journal", "\(Self.name)-wal", "mutations.sqlite",
      ])
    #expect(try self.text(Self.name) == "db")
    #expect(try self.text("\(Self.name)-wal") == "wal")
    #expect(try self.text("\(Self.name)-journal") == "journal")
    #expect(try !setAside.isPending)
  }

  @Test func whereNothingIsNothingIsDone() throws {
    #expect(try self.setAside.run(.corrupt, holding: self.lock) == nil)
    #expect(try self.setAside.finish(holding: self.lock) == nil)
    #expect(try self.files == [])
    let missing = SetAside(kind: .cache, folder: "\(self.folder.path)/none")
    #expect(try !missing.isPending)
  }

  @Test func anotherErrorIsThrownAndNothingIsLost() throws {
    try self.write("db", "cache.sqlite")
    try self.write("wal", "cache.sqlite-wal")
    var setAside = self.setAside
    setAside.link = { _, _ in ENOSPC }
    let error = storageError { try setAside.run(.corrupt, holding: self.lock) }
    #expect(error?.code == .full)
    #expect(error?.fileName == "cache.sqlite")
    #expect(try self.files == ["cache.sqlite", "cache.sqlite-wal"])
  }

  @Test func twoOfOneSecondHaveTwoNames() throws {
    for number in 1...3 {
      try self.write("\(number)", "cache.sqlite")
      _ = try self.setAside.run(.newer(level: 9), holding: self.lock)
    }
    let name = "cache.sqlite.level-9-20260131T120000Z"
    #expect(try self.files == [name, "\(name)-2", "\(name)-3"])
    #expect(try self.text("\(name)-3") == "3")
    // A companion that was left behind takes a name, too.
    try self.write("wal", "\(name)-4-wal")
    try self.write("5", "cache.sqlite")
    #expect(try self.setAside.run(.newer(level: 9), holding: self.lock) == "\(name)-5")
  }

  @Test func theNewestTwoDamagedOnesAreKeptAndAllOfNewerReleases() throws {
    for second in 0...4 {
      try self.write("\(second)", "cache.sqlite")
      try self.write("wal", "cache.sqlite-wal")
      _ = try self.at(Double(second)).run(
        second == 1 ? .newer(level: 2) : .corrupt, holding: self.lock)
    }
    let names = [
      "cache.sqlite.corrupt-20260131T120003Z", "cache.sqlite.corrupt-20260131T120004Z",
      "cache.sqlite.level-2-20260131T120001Z",
    ]
    #expect(try self.files == names.flatMap { [$0, "\($0)-wal"] })
  }

  @Test func theNewOneIsKeptWhereTheClockWentBack() throws {
    for second in [10, 20, 0] {
      try self.write("\(second)", "cache.sqlite")
      _ = try self.at(Double(second)).run(.corrupt, holding: self.lock)
    }
    #expect(
      try self.files == [
        "cache.sqlite.corrupt-20260131T120000Z", "cache.sqlite.corrupt-20260131T120020Z",
      ])
  }
}

// MARK: - Deletion

extension SetAsideTests {
  @Test func removingAllLeavesTheDatabaseAndOthersFiles() throws {
    let kept = [
      "cache.sqlite", "cache.sqlite-wal", "cache.sqlite.corrupt-copy", "cache.sqlite.level-2",
      "mutations.sqlite.corrupt-20260131T120000Z",
    ]
    let removed = [
      Self.name, "\(Self.name)-shm", "\(Self.name)-wal.part", "\(Self.name)-2-journal",
      "cache.sqlite.level-2-20260131T120000Z", "cache.sqlite.level-2-20260131T120000Z-wal",
    ]
    for name in kept + removed { try self.write(name, name) }
    try self.setAside.removeAll()
    #expect(try self.files == kept)
    try self.setAside.removeAll()
  }

  @Test func whatCannotBeDeletedIsAnErrorAfterTheOthersAreDeleted() throws {
    try DatabaseFiles().makeFolder("\(self.folder.path)/\(Self.name)")
    try self.write("wal", "\(Self.name)-wal")
    try self.write("b", "\(Self.name)-2")
    #expect(storageError { try self.setAside.removeAll() } != nil)
    #expect(try self.files == [Self.name])
  }
}
