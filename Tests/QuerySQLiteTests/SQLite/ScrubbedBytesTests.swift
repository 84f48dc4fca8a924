import Foundation
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// What is in the file where bytes of no row were.
@Suite struct ScrubbedBytesTests {
  /// Where a deleted row leaves its bytes.
  enum Leftover: CaseIterable {
    case gapOfAPage, freePages
  }

  private static let secret = "a text that nobody may find again"

  /// How a file comes to have them.
  private static func statements(_ leftover: Leftover) -> [String] {
    switch leftover {
    case .gapOfAPage:
      [
        "CREATE TABLE short (text TEXT)",
        "INSERT INTO short VALUES (replace(hex(zeroblob(55)), '00', '\(Self.secret) '))",
        "INSERT INTO short VALUES ('stays')",
        "DELETE FROM short WHERE rowid = 1",
      ]
    case .freePages:
      [
        "CREATE TABLE short (text TEXT)",
        "INSERT INTO short VALUES ('stays')",
        "CREATE TABLE long (text TEXT)",
        "INSERT INTO long VALUES (replace(hex(zeroblob(1000)), '00', '\(Self.secret) '))",
        "DROP TABLE long",
      ]
    }
  }

  private static func scrub(_ connection: SQLiteConnection) throws {
    var scrub = PageScrub()
    while !scrub.isDone {
      let hasRun = try connection.write {
        try scrub.run(StepBudget(rows: .max), on: connection)
      }
      try #require(hasRun)
    }
  }

  @Test(arguments: Leftover.allCases)
  func zerosAreWrittenOnceInTheirPlace(_ leftover: Leftover) throws {
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection.scratch(in: folder)
    try connection.pragma("PRAGMA secure_delete = 0")
    for sql in Self.statements(leftover) { _ = try connection.rowsOfText(sql) }
    _ = try connection.checkpoint(.truncate)
    let url = URL(filePath: connection.path)
    let before = try Data(contentsOf: url)
    var places = [Range<Int>]()
    while let place = before.range(
      of: Data(Self.secret.utf8), in: (places.last?.upperBound ?? 0)..<before.count)
    {
      places.append(place)
    }
    try #require(!places.isEmpty)
    try Self.scrub(connection)
    let after = try Data(contentsOf: url)
    for place in places { #expect(after[place].allSatisfy { $0 == 0 }, "\(place)") }
    #expect(try connection.rowsOfText("SELECT text FROM short") == ["stays"])

    // Another pass finds zeros, and writes nothing.
    let long = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
    #expect(utimensat(AT_FDCWD, connection.path, [long, long], 0) == 0)
    try Self.scrub(connection)
    var status = stat()
    #expect(stat(connection.path, &status) == 0)
    #expect(status.st_mtim.tv_sec == long.tv_sec)
    #expect(try Data(contentsOf: url) == after)
    try connection.close()
  }
}
