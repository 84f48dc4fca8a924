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
}
