import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8: the first commit of a log writes which one it is, so that no other one is taken for it.
@Suite struct SQLiteConnectionLogLinkTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  private static func link(_ connection: SQLiteConnection) throws -> [String] {
    try connection.rowsOfText("SELECT hex(previous) || ' ' || hex(current) FROM log_link")
  }

  /// A program may have made a VFS of its own the default one. It needs shared memory for a WAL, but need
  /// not map the file, as SQLite's own does.
  @Test(arguments: [nil, FaultVFS().name])
  func theFirstCommitOfALogSaysWhichOneItIsWithAnyVFS(_ vfs: String?) throws {
    var opener = DatabaseOpener(.mutations, in: self.folder)
    if let vfs { opener.options.vfs = vfs }
    let connection = try opener.openWriter()
    var links = [try Self.link(connection)]
    for round in 0..<3 {
      #expect(try connection.checkpoint(.reset).isComplete)
      for number in 0..<2 {
        try connection.write {
          try connection.execute(OutboxPartitionRow.insert, "\(round) \(number)")
        }
        links.append(try Self.link(connection))
      }
    }
    // The second commit of a log says nothing of it.
    #expect(links[1] == links[2] && links[3] == links[4] && links[5] == links[6])
    #expect(Set(links).count == 4)
    try connection.close()
  }
}
