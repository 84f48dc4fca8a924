import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct FileKeeperTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  private func keeper(_ kind: DatabaseKind = .cache) -> FileKeeper {
    FileKeeper(DatabaseOpener(kind: kind, folder: self.folder.path))
  }

  private func damage(_ code: StorageError.Code = .corrupt) -> StorageError {
    StorageError(operation: "read", code: code, message: "damaged", fileName: "cache.sqlite")
  }

  private func make(_ kind: DatabaseKind = .cache) throws {
    try DatabaseOpener(kind: kind, folder: self.folder.path).openWriter().close()
  }

  @Test func onlyOneProcessReplacesAFileAndNoneWhileAnotherHasItOpen() throws {
    let (first, second) = (self.keeper(), self.keeper())
    try first.lockFile()
    try second.lockFile()
    #expect(!first.lockExclusively())
    let error = storageError { try first.withExclusiveLock(toReplace: self.damage()) { _ in } }
    #expect(error?.code == .busy && error?.message.contains("(damaged)") == true)
    second.unlock()
    var hasRun = false
    try first.withExclusiveLock { _ in hasRun = true }
    #expect(hasRun)
  }

  @Test func whatTheFirstProcessDoesTheOthersLeaveToIt() throws {
    let (first, second) = (self.keeper(), self.keeper())
    var count = 0
    try first.lockFile()
    try first.asFirst { _ in count += 1 }
    try second.lockFile()
    try second.asFirst { _ in count += 1 }
    #expect(count == 1)
    // It holds the lock yet.
    #expect(!first.lockExclusively())
  }

  /// Two that start at one time keep each other from being alone, and none has checked anything.
  @Test func ofTwoThatStartTogetherEachChecksASoundFile() throws {
    let (first, second) = (self.keeper(), self.keeper())
    try first.lockFile()
    try second.lockFile()
    var count = 0
    for keeper in [first, second] {
      let isFirst = try keeper.checkAsFirst {
        count += 1
        return nil
      } replace: { _, _ in
        Issue.record("it is sound")
      }
      #expect(!isFirst)
    }
    #expect(count == 2)
  }

  @Test func whatIsCheckedAndOpenIsNotCheckedAgain() throws {
    try self.make()
    let (first, second) = (self.keeper(), self.keeper())
    try first.lockFile()
    let connection = try first.openWriter(replacingIf: { _ in false }, { _, _ in })
    try second.lockFile()
    let isFirst = try second.checkAsFirst {
      Issue.record("others write the log meanwhile")
      return nil
    } replace: { _, _ in
    }
    #expect(!isFirst)
    try connection.close()
  }

  /// One of them is stopped before it has opened the file, and goes on, or is killed.
  @Test func aDamagedFileIsReplacedOnceTheOtherLetsGo() throws {
    let (first, second) = (self.keeper(), self.keeper())
    try first.lockFile()
    try second.lockFile()
    var looks = 0
    var isReplaced = false
    let isFirst = try second.checkAsFirst {
      looks += 1
      if looks == 3 { first.unlock() }
      return isReplaced ? nil : self.damage()
    } replace: { _, _ in
      isReplaced = true
    }
    #expect(isFirst && isReplaced)
    #expect(looks > 3)
  }

  @Test func aDamagedFileThatTheOtherDoesNotLetGoOfIsNotOpened() throws {
    let first = self.keeper()
    var opener = DatabaseOpener(kind: .cache, folder: self.folder.path)
    opener.patience = .milliseconds(20)
    let second = FileKeeper(opener)
    try first.lockFile()
    try second.lockFile()
    let error = storageError {
      try second.checkAsFirst {
        self.damage()
      } replace: { _, _ in
        Issue.record("it is not alone")
      }
    }
    #expect(error?.code == .busy && error?.message.contains("(damaged)") == true)
  }

  /// Damage in pages is checked a second time; a file that proves sound stays, and the next report
  /// is believed.
  @Test func aFileThatProvesSoundIsKeptOnce() throws {
    try self.make()
    let keeper = self.keeper()
    try keeper.lockFile()
    var replaced = 0
    for _ in 0..<2 {
      #expect(keeper.note(self.damage()))
      #expect(!keeper.note(self.damage()))
      try keeper.replaceDamaged { _, _ in replaced += 1 }
    }
    #expect(replaced == 1)
    try keeper.replaceDamaged { _, _ in replaced += 1 }
    #expect(replaced == 1)
  }

  @Test func anotherFileAtThePathIsNotReplaced() throws {
    try self.make()
    let keeper = self.keeper()
    try keeper.lockFile()
    #expect(keeper.note(self.damage(.notADatabase)))
    // So that the new one has another number.
    let path = "\(self.folder.path)/cache.sqlite"
    try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
    try self.make()
    try keeper.replaceDamaged { _, _ in Issue.record("it was replaced") }
  }

  /// A constraint that fails in the outbox is a bug of the library.
  @Test func whatIsNoDamageOrHasNoFileIsNotNoted() throws {
    #expect(!self.keeper().note(self.damage()))
    try self.make(.mutations)
    #expect(!self.keeper(.mutations).note(self.damage(.constraint)))
    #expect(!self.keeper(.mutations).note(self.damage(.full)))
    #expect(self.keeper(.mutations).note(self.damage()))
  }

  @Test func aUselessFileIsReplacedAndOthersAreNot() throws {
    let path = "\(self.folder.path)/cache.sqlite"
    try Data(repeating: 7, count: 5_000).write(to: URL(filePath: path))
    let keeper = self.keeper()
    try keeper.lockFile()
    #expect(throws: OpeningFailure.self) {
      try keeper.openWriter(replacingIf: { _ in false }, { _, _ in Issue.record("replaced") })
    }
    var failures = [OpeningFailure]()
    let connection = try keeper.openWriter(
      replacingIf: { _ in true },
      { _, failure in
        failures.append(failure)
        try FileManager.default.removeItem(atPath: path)
      })
    #expect(failures.count == 1)
    try connection.close()
  }

  @Test func itsConnectionKnowsWhetherAnotherOneMayWrite() throws {
    let keeper = self.keeper()
    try keeper.lockFile()
    let connection = try keeper.openWriter(replacingIf: { _ in false }, { _, _ in })
    defer { try? connection.close() }
    #expect(connection.isAlone())
    let other = self.keeper()
    try other.lockFile()
    #expect(!connection.isAlone())
    other.letGo()
    #expect(connection.isAlone())
  }
}
