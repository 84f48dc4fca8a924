import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// A process that is killed between any two steps of setting a database aside, and a second one that
/// is killed while it finishes that, mix no two files.
@Suite struct KilledSetAsideTests {
  /// Sets a database aside: the row `a` is in its file, the row `b` in its WAL alone.
  private struct World {
    let folder: TemporaryFolder
    let lock: FileLock
    let setAside: SetAside
    let name = SetAside.Name(reason: .corrupt, date: Date(timeIntervalSince1970: 1_769_860_800))
    let isLinking: Bool

    /// Begins with the files of a template, which nobody has open.
    init(_ template: TemporaryFolder, isLinking: Bool) throws {
      self.folder = try TemporaryFolder()
      try Self.copy(template.path, to: self.folder.path)
      self.lock = FileLock(kind: .cache, folder: self.folder.path)
      self.isLinking = isLinking
      self.setAside = SetAside(kind: .cache, folder: self.folder.path)
      #expect(try self.lock.tryExclusive())
    }

    static func template() throws -> TemporaryFolder {
      let folder = try TemporaryFolder()
      var opener = DatabaseOpener(.cache, in: folder)
      opener.options.checkpointsOnClose = false
      let connection = try opener.openWriter()
      try connection.write { try connection.execute(PartitionRow.insert, "a") }
      #expect(try connection.checkpoint(.restart).isComplete)
      try connection.write { try connection.execute(PartitionRow.insert, "b") }
      try connection.close()
      #expect(DatabaseFiles().size(of: "\(opener.path)-wal") ?? 0 > 0)
      return folder
    }

    private static func copy(_ folder: String, to other: String) throws {
      for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
        try FileManager.default.copyItem(
          atPath: "\(folder)/\(file)", toPath: "\(other)/\(file)")
      }
    }

    var steps: [SetAside.Step] {
      self.isLinking
        ? self.setAside.linkingSteps(to: self.name) : self.setAside.renamingSteps(to: self.name)
    }

    func perform(_ steps: some Sequence<SetAside.Step>) {
      for step in steps { #expect(self.setAside.perform(step) == 0) }
    }

    /// The rows of a database, read in a copy of the folder, so that nothing here changes.
    func rows(_ fileName: String) throws -> [String]? {
      let copy = try TemporaryFolder()
      try Self.copy(self.folder.path, to: copy.path)
      let path = "\(copy.path)/\(fileName)"
      guard FileManager.default.fileExists(atPath: path) else { return nil }
      let connection = try SQLiteConnection(path: path)
      #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
      return try connection.rowsOfText("SELECT name FROM partitions ORDER BY id")
    }

    var newName: String { self.name.fileName(of: .cache) }
  }

  /// More steps than there are.
  private static let mostSteps = 10

  /// After which steps the second process is killed: after each in the full run.
  private static let step = ProcessInfo.processInfo.environment["FULL"] == nil ? 3 : 1

  private let template: TemporaryFolder

  init() throws { self.template = try World.template() }

  @Test(arguments: [true, false])
  func whatIsOpenedNextIsOneFile(_ isLinking: Bool) throws {
    for first in 0...Self.mostSteps {
      for second in stride(from: 0, through: Self.mostSteps, by: Self.step) {
        let world = try World(self.template, isLinking: isLinking)
        let steps = world.steps
        #expect(steps.count < Self.mostSteps)
        guard first <= steps.count else { break }
        world.perform(steps.prefix(first))
        // A process that opened it as it is would find the whole database, or an older state of it.
        let seen = try world.rows("cache.sqlite")
        #expect(seen == nil || seen == ["a"] || seen == ["a", "b"])
        if try world.setAside.isPending {
          let left = world.steps
          guard second <= left.count else { break }
          world.perform(left.prefix(second))
          try world.setAside.finish(holding: world.lock)
        }
        try self.check(world, isSetAside: first > 0)
        if first == 0 { break }
      }
    }
  }

  /// After opening: either nothing has happened, or a new database stands beside the old one.
  private func check(_ world: World, isSetAside: Bool) throws {
    #expect(try !world.setAside.isPending)
    let connection = try DatabaseOpener(.cache, in: world.folder).openWriter()
    try connection.write { try connection.execute(PartitionRow.insert, "c") }
    try connection.close()
    #expect(try world.rows("cache.sqlite") == (isSetAside ? ["c"] : ["a", "b", "c"]))
    #expect(try world.rows(world.newName) == (isSetAside ? ["a", "b"] : nil))
    let files = try FileManager.default.contentsOfDirectory(atPath: world.folder.path)
    #expect(!files.contains { $0.hasSuffix(SetAside.Name.part) })
    #expect(files.filter { $0.contains("corrupt") && !$0.hasSuffix("-wal") }.count <= 1)
  }

  @Test(arguments: [true, false])
  func runningItAgainFinishesItAndMakesNoSecondOne(_ isLinking: Bool) throws {
    for count in 1...Self.mostSteps {
      let world = try World(self.template, isLinking: isLinking)
      let steps = world.steps
      guard count <= steps.count else { break }
      world.perform(steps.prefix(count))
      let isPending = try world.setAside.isPending
      let name = try world.setAside.run(.corrupt, holding: world.lock)
      #expect(name == (isPending ? world.newName : nil))
      #expect(try world.rows("cache.sqlite") == nil)
      #expect(try world.rows(world.newName) == ["a", "b"])
    }
  }

  /// A process that knows nothing of it, a user's tool, used the database in between.
  @Test func whatWasWrittenBetweenIsSetAsideToo() throws {
    let world = try World(self.template, isLinking: true)
    // All but the database itself has lost its old name.
    world.perform(world.steps.prefix { $0 != .unlink(world.setAside.databasePath) })
    var options = SQLiteConnection.Options()
    options.checkpointsOnClose = false
    let connection = try SQLiteConnection(path: world.setAside.databasePath, options: options)
    try connection.write { try connection.execute(PartitionRow.insert, "d") }
    try connection.close()
    #expect(try world.setAside.finish(holding: world.lock) == world.newName)
    #expect(try world.rows("cache.sqlite") == nil)
    #expect(try world.rows(world.newName) == ["a", "d"])
  }

  @Test func aNewDatabaseBesideAnUnfinishedOneIsNotTakenForIt() throws {
    let world = try World(self.template, isLinking: false)
    // The database has its new name, its WAL not yet.
    let steps = world.steps
    let end = try #require(
      steps.firstIndex(
        of: .rename(world.setAside.databasePath, world.setAside.path(of: world.name))))
    world.perform(steps[...end])
    let connection = try DatabaseOpener(.cache, in: world.folder).openWriter()
    try connection.write { try connection.execute(PartitionRow.insert, "new") }
    try connection.close()
    #expect(try world.setAside.finish(holding: world.lock) == world.newName)
    #expect(try world.rows(world.newName) == ["a", "b"])
    #expect(try world.rows("cache.sqlite") == ["new"])
  }
}
