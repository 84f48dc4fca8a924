import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct FolderRegistryTests {
  private final class Database: Sendable {}
  private struct Refused: Error {}

  private let folder: TemporaryFolder
  private let registry = FolderRegistry<Database>()

  init() throws { self.folder = try TemporaryFolder() }

  private func hold(
    _ path: String? = nil, waiting: Counter = Counter()
  ) throws -> (Database, String) {
    try self.registry.hold(path ?? self.folder.path) { _ in
      waiting.increment()
    } joining: { _ in
      "joined"
    } making: {
      (Database(), "made")
    }
  }

  @Test func storagesOnOneFolderShareADatabaseUntilTheLastIsGone() throws {
    let (first, how) = try self.hold()
    let link = "\(self.folder.path)-link"
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: self.folder.path)
    defer { try? FileManager.default.removeItem(atPath: link) }
    let (second, howSecond) = try self.hold(link)
    #expect(first === second && how == "made" && howSecond == "joined")
    var answers = [Bool]()
    for _ in 0..<2 {
      self.registry.release(first) { isLast in
        answers.append(isLast)
        return false
      }
    }
    #expect(answers == [false, true])
    #expect(try self.hold().0 !== first)
  }

  @Test func theNextDatabaseOfAFolderWaitsForTheThreadOfTheLast() throws {
    let (first, _) = try self.hold()
    self.registry.release(first) { _ in true }
    let waiting = Counter()
    let (second, how) = try self.hold(waiting: waiting)
    #expect(how == "made" && second !== first && waiting.value == 1)
    self.registry.didEnd(first)
    self.registry.release(second) { _ in false }
    #expect(try self.hold(waiting: waiting).1 == "made")
    #expect(waiting.value == 1)
  }

  @Test func aDatabaseThatCannotBeMadeIsNotKept() throws {
    #expect(throws: Refused.self) {
      try self.registry.hold(self.folder.path, joining: { _ in 0 }, making: { throw Refused() })
    }
    #expect(try self.hold().1 == "made")
  }

  /// The folder's number is not given to another one while the database is open.
  @Test func anotherFolderAtThePathHasAnotherDatabase() throws {
    let path = "\(self.folder.path)/inner"
    let (first, _) = try self.hold(path)
    try FileManager.default.removeItem(atPath: path)
    let (second, how) = try self.hold(path)
    #expect(how == "made" && second !== first)
  }
}
