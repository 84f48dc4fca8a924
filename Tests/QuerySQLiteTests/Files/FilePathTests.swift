import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Paths are taken apart as Foundation's `NSString` does it, which ends the process if a path is empty.
@Suite struct FilePathTests {
  @Test(arguments: [
    ("", "", ""), ("/", "/", "/"), ("//", "/", "/"), ("a", "a", ""), ("a/", "a", ""),
    ("/a", "a", "/"), ("/a/", "a", "/"), ("/a/b", "b", "/a"), ("a/b", "b", "a"),
    ("a//b", "b", "a"), ("/a//b//", "b", "/a"), ("./a", "a", "."), ("../a/.", ".", "../a"),
    ("/var/lib/caf\u{e9}/x.sqlite", "x.sqlite", "/var/lib/caf\u{e9}"),
    ("cafe\u{301}/e\u{301}", "e\u{301}", "cafe\u{301}"),
  ])
  func aPathHasANameAndAFolder(_ path: String, _ name: String, _ folder: String) {
    #expect(FilePath.name(of: path) == name)
    #expect(FilePath.folder(of: path) == folder)
  }

  @Test func aPathIsResolvedAsFarAsItIsThere() throws {
    let folder = try TemporaryFolder()
    let files = FileManager.default
    let real = FilePath.resolved(folder.path)
    try files.createDirectory(atPath: "\(real)/notes", withIntermediateDirectories: false)
    try files.createSymbolicLink(
      atPath: "\(real)/link", withDestinationPath: "\(real)/notes")
    try files.createSymbolicLink(
      atPath: "\(real)/notes/lost", withDestinationPath: "\(real)/nowhere")
    // The file is not there yet; its folder is, behind a link.
    #expect(FilePath.resolved("\(real)/link/x.sqlite") == "\(real)/notes/x.sqlite")
    #expect(FilePath.resolved("\(real)/link") == "\(real)/notes")
    // A link that leads nowhere stays.
    #expect(FilePath.resolved("\(real)/notes/lost") == "\(real)/notes/lost")
    #expect(FilePath.resolved("/no-such-file") == "/no-such-file")
  }
}
