import Foundation
import Query
import Testing

@testable import QuerySQLite

/// The valid log of another outbox, put beside the file of one whose process was killed: SQLite takes it
/// for the file's own.
// One after another: each outbox watches its folder, and of watches a user has 128.
@Suite(.serialized) struct AccountMarksTests {
  /// Of one that was never copied into its file, and so has all pages, and of one that has some.
  @Test(arguments: [1, 12])
  func theLogOfAnotherOutboxIsNotTakenForItsOwn(_ rows: Int) async throws {
    let first = try await DamagedOutbox(rows: 12, isKilled: true)
    var second = try await DamagedOutbox(rows: rows, isKilled: true)
    // A second after its last commit the writer empties the log.
    while LogImage(second.log, pageSize: 4_096).isIdle {
      second = try await DamagedOutbox(rows: rows, isKilled: true)
    }
    let alone = try await DamagedOutbox.open(first.file, [])
    #expect(alone.texts.count >= 5)
    let folder = try TemporaryFolder()
    let outcome = try await DamagedOutbox.open(first.file, second.log, in: folder)
    #expect(outcome.texts == alone.texts && outcome.dead.isEmpty)
    #expect(outcome.reports.count == 1 && outcome.errors == [])
    #expect(outcome.reports.first?.contains("another outbox") == true, "\(outcome.reports)")
    #expect(outcome.reports.first?.contains("not readable: what its own log had") == true)
    // It is kept for a user who looks for it.
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let log = try #require(names.first { $0.contains("corrupt") && $0.hasSuffix("-wal") })
    #expect(try Array(Data(contentsOf: URL(filePath: "\(folder.path)/\(log)"))) == second.log)
    #expect(try await DamagedOutbox.open(folder).texts == alone.texts)
  }

  @Test func itsOwnLogIsTakenWhateverBitOfAMarkIsFlipped() async throws {
    let outbox = try await DamagedOutbox(rows: 12, isKilled: true)
    for bit in [0, 17, 62] {
      let folder = try TemporaryFolder()
      let path = "\(folder.path)/mutations.sqlite"
      try Data(outbox.file).write(to: URL(filePath: path))
      let connection = try SQLiteConnection(path: path)
      _ = try connection.rowsOfText(
        "UPDATE partitions SET mark = (mark | (1 << \(bit))) - (mark & (1 << \(bit)))")
      _ = try connection.checkpoint(.reset)
      try connection.close()
      let file = Array(try Data(contentsOf: URL(filePath: path)))
      #expect(file != outbox.file)
      let outcome = try await DamagedOutbox.open(file, outbox.log)
      #expect(outcome.reports == [] && outcome.texts == outbox.texts)
    }
  }
}
