import Foundation
import Migrations
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// A process that is killed at any write of a migration leaves the old schema or the new one.
@Suite struct KilledMigrationTests {
  /// The step between the calls before which it is killed; each call in the full run.
  private static let step = ProcessInfo.processInfo.environment["FULL"] == nil ? 7 : 1

  @Test(arguments: DatabaseKind.allCases)
  func theSchemaIsTheOldOrTheNewOne(_ kind: DatabaseKind) async throws {
    let count = try Self.changes(of: kind)
    #expect(count > 10)
    for nth in stride(from: 1, through: count, by: Self.step) {
      let folder = try TemporaryFolder()
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = folder.path as String, name = kind.rawValue as String, nth = nth as Int] in
        let vfs = FaultVFS()
        var opener = DatabaseOpener(
          kind: try #require(DatabaseKind(rawValue: name)), folder: path)
        opener.options.vfs = vfs.name
        vfs.kill(.changes, nth: nth)
        _ = try opener.openWriter()
      }
      let opener = DatabaseOpener(kind: kind, folder: folder.path)
      let found = try SQLiteConnection(path: opener.path)
      let level = try found.pragma("PRAGMA user_version")
      let tables = try found.pragma("SELECT count(*) FROM sqlite_schema WHERE type = 'table'")
      #expect(level == "0" ? tables == "0" : level == "1")
      try found.close()
      let connection = try opener.openWriter()
      #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
      #expect(try connection.pragma("SELECT count(*) FROM migrations") == "1")
    }
  }

  /// How many times the first opening changes a file.
  private static func changes(of kind: DatabaseKind) throws -> Int {
    let vfs = FaultVFS()
    let folder = try TemporaryFolder()
    vfs.disarm()
    let connection = try DatabaseOpener(kind, in: folder, vfs: vfs).openWriter()
    let count = vfs.count(.changes)
    try connection.close()
    return count
  }
}
