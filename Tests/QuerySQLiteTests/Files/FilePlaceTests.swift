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
    self.place = try #require(FilePlace(folder: self.folder.path, files: [("file", number)]))
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
    #expect(FilePlace(folder: "\(self.folder.path)/none", files: [("file", number)]) == nil)
  }

  @Test func oneNameCanBeLeftOut() throws {
    let other = "\(self.path).other"
    try DatabaseFiles().makeFile(other)
    let files = try ["file", "file.other"].map { name in
      (name, try #require(FileNumber(path: "\(self.folder.path)/\(name)")))
    }
    let place = try #require(FilePlace(folder: self.folder.path, files: files))
    #expect(place.isKept && place.isKept(but: "file"))
    #expect(unlink(self.path) == 0)
    #expect(!place.isKept && place.isKept(but: "file"))
    #expect(unlink(other) == 0)
    #expect(!place.isKept(but: "file"))
  }

  // MARK: - The folder's stamp

  /// Waits until the stamp of the folder is old enough to be trusted.
  private func settle() { usleep(70_000) }

  @Test func whatHappensAfterATrustedStampIsNoticed() throws {
    let place = self.place
    for round in 0..<9 {
      self.settle()
      #expect(place.isKept)
      #expect(place.isKept)
      #expect(link(self.path, "\(self.path).link") == 0)
      switch round % 3 {
      case 0:
        #expect(rename(self.path, "\(self.path).old\(round)") == 0)
      case 1:
        #expect(unlink(self.path) == 0)
      default:
        try DatabaseFiles().makeFile("\(self.path).new")
        self.settle()
        #expect(place.isKept)
        #expect(rename("\(self.path).new", self.path) == 0)
      }
      #expect(!place.isKept)
      #expect(rename("\(self.path).link", self.path) == 0)
      #expect(place.isKept)
    }
  }

  /// A FAT keeps hundredths of a second of one time, and ticks every two seconds.
  @Test(
    arguments: [
      (1_700_000_000_123_456_789, 1_700_000_000_123_456_789, true),
      (1_700_000_000_120_000_000, 1_700_000_000_123_456_789, false),
      (1_700_000_000_123_456_789, 1_700_000_000_120_000_000, false),
      (1_700_000_000_000_000_000, 1_700_000_000_000_000_000, false),
    ] as [(Int64, Int64, Bool)])
  func aStampOfWholeHundredthsIsACoarseOne(_ modified: Int64, _ changed: Int64, _ isFine: Bool) {
    #expect(FilePlace.Stamp(modified: modified, changed: changed).isFine == isFine)
  }

  @Test func aFileWhoseTimesWereSetBackIsNoticed() throws {
    let place = self.place
    self.settle()
    #expect(place.isKept)
    var status = stat()
    #expect(stat(self.folder.path, &status) == 0)
    #expect(rename(self.path, "\(self.path).old") == 0)
    // What `touch -r` does; the time of the change of the inode cannot be set.
    var times = [status.st_atim, status.st_mtim]
    #expect(utimensat(AT_FDCWD, self.folder.path, &times, 0) == 0)
    #expect(!place.isKept)
  }

  @Test func aLinkIsNotTrusted() throws {
    let elsewhere = try TemporaryFolder()
    let target = "\(elsewhere.path)/file"
    #expect(rename(self.path, target) == 0)
    #expect(symlink(target, self.path) == 0)
    let number = try #require(FileNumber(path: self.path))
    let place = try #require(FilePlace(folder: self.folder.path, files: [("file", number)]))
    self.settle()
    #expect(place.isKept)
    #expect(place.isKept)
    #expect(rename(target, "\(target).old") == 0)
    #expect(!place.isKept)
  }
}
