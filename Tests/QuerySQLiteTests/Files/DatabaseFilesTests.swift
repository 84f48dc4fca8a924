import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

@Suite struct DatabaseFilesTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  private func mode(_ path: String) -> UInt32 {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test func foldersAreForTheirUserAlone() throws {
    let path = "\(self.folder.path)/a/b/c"
    try DatabaseFiles().makeFolder(path)
    for path in ["a", "a/b", "a/b/c"] { #expect(self.mode("\(self.folder.path)/\(path)") == 0o700) }
    // What is there stays as it is.
    #expect(chmod(path, 0o755) == 0)
    try DatabaseFiles().makeFolder(path)
    #expect(self.mode(path) == 0o755)
  }

  @Test func aFolderBelowAFileIsAnError() throws {
    let path = "\(self.folder.path)/file"
    try DatabaseFiles().makeFile(path)
    let error = #expect(throws: StorageError.self) { try DatabaseFiles().makeFolder("\(path)/a") }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message == "Not a directory")
  }

  @Test func filesAreForTheirUserAloneAndNeverReplaced() throws {
    let path = "\(self.folder.path)/file"
    try DatabaseFiles().makeFile(path)
    #expect(self.mode(path) == 0o600)
    try Data("a".utf8).write(to: URL(filePath: path))
    try DatabaseFiles().makeFile(path)
    #expect(DatabaseFiles().size(of: path) == 1)
    #expect(DatabaseFiles().size(of: "\(path)-none") == nil)
  }

  @Test(arguments: [
    (0x6969, "NFS"), (0xff53_4d42, "SMB"), (0xfe53_4d42, "SMB"), (0x0102_1997, "9p"),
  ])
  func networkFileSystemsAreRefusedByName(_ type: Int, _ name: String) throws {
    let files = DatabaseFiles(fileSystemType: { _ in type })
    let failure = #expect(throws: OpeningFailure.self) {
      try files.refuseNetworkFileSystem(self.folder.path)
    }
    #expect(failure?.kind == .refused)
    #expect(failure?.error.message.contains("network file system (\(name))") == true)
  }

  @Test(arguments: [nil, 0xef53, 0x0102_1994, 0x9123_683e])
  func otherFileSystemsAreNot(_ type: Int?) throws {
    try DatabaseFiles(fileSystemType: { _ in type }).refuseNetworkFileSystem(self.folder.path)
  }

  /// SQLite writes zeros over the header when it is done with a log that it keeps.
  @Test func aLogHasFramesIfThereIsSomethingBehindAHeaderThatIsNotOfZeros() throws {
    let path = "\(self.folder.path)/log"
    #expect(try !DatabaseFiles.logMayHaveFrames(path))
    let header = [UInt8](repeating: 0, count: 31) + [1]
    for (bytes, mayHaveFrames) in [
      ([], false), (Array(header.dropFirst()), false), ([UInt8](repeating: 0, count: 100), false),
      (header, false), (header + [0], true), ([UInt8](repeating: 1, count: 33), true),
    ] {
      try Data(bytes).write(to: URL(filePath: path))
      #expect(try DatabaseFiles.logMayHaveFrames(path) == mayHaveFrames, "\(bytes)")
    }
  }

  @Test func theTypeIsThatOfThePath() {
    #expect(DatabaseFiles().fileSystemType("/proc") == 0x9fa0)
    #expect(DatabaseFiles().fileSystemType("\(self.folder.path)/none") == nil)
  }

  /// As some file systems in user space do.
  @Test func roomThatIsUnknownOrTooMuchToCountIsNoTrap() {
    #expect(DatabaseFiles.bytes(of: .max, eachOf: 4_096) == nil)
    #expect(DatabaseFiles.bytes(of: 1 << 60, eachOf: 4_096) == .max)
    #expect(DatabaseFiles.bytes(of: 1 << 52, eachOf: 2_048) == .max)
    #expect(DatabaseFiles.bytes(of: 3, eachOf: 4_096) == 12_288)
  }
}
