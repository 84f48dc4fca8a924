import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct FilePlaceTests {
  private let folder: TemporaryFolder
  private let path: String
  private let place: FilePlace

  init() throws {
    self.folder = try TemporaryFolder()
    self.path = "\(self.folder.path)/file"
    try DatabaseFiles().makeFile(self.path)
    let number = try #require(FileNumber(path: self.path))
    self.place = try #require(FilePlace(folder: self.folder.path, name: "file", number: number))
  }

  @Test func aFileThatStaysKeepsIt() { #expect(self.place.isKept) }

  @Test func oneThatWasRenamedDoesNotUntilItComesBack() throws {
    #expect(rename(self.path, "\(self.path).old") == 0)
    #expect(!self.place.isKept)
    #expect(rename("\(self.path).old", self.path) == 0)
    #expect(self.place.isKept)
  }

  @Test func anotherOneOfItsNameHasTaken() throws {
    try DatabaseFiles().makeFile("\(self.path).new")
    #expect(rename("\(self.path).new", self.path) == 0)
    #expect(!self.place.isKept)
  }

  @Test func aFolderThatIsGoneHasNoPlace() throws {
    #expect(unlink(self.path) == 0)
    #expect(!self.place.isKept)
    let number = try #require(FileNumber(path: self.folder.path))
    #expect(FilePlace(folder: "\(self.folder.path)/none", name: "file", number: number) == nil)
  }
}
