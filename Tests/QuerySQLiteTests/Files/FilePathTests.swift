import Foundation
import Testing

@testable import QuerySQLite

@Suite struct FilePathTests {
  @Test(arguments: [
    "", "/", "a", "a/", "/a", "/a/", "/a/b", "a/b", "a//b", "/a//b//",
    "/var/lib/caf\u{e9}/x.sqlite",
    "./a", "../a/.", "/a.b/.c", "cafe\u{301}/e\u{301}",
  ])
  func itTakesPathsApartAsFoundationDoes(_ path: String) {
    #expect(FilePath.name(of: path) == (path as NSString).lastPathComponent)
    #expect(FilePath.folder(of: path) == (path as NSString).deletingLastPathComponent)
  }
}
