import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct QuarantineRowTests {
  private let folder: TemporaryFolder
  private let connection: SQLiteConnection

  init() throws {
    self.folder = try TemporaryFolder()
    self.connection = try DatabaseOpener(.cache, in: self.folder).openWriter()
    try self.connection.write {
      try self.connection.execute(PartitionRow.insert, "")
      for number in 1...4 { try EntryRow.sample(number).insert(into: self.connection) }
      try PageRow(
        entry: 1, position: 3, updatedAt: 1, checksum: XXH128(hashing: ""), pageID: Data([1]),
        value: Data([2, 3])
      ).write(to: self.connection)
    }
  }

  private func quarantine(_ id: Int, at date: Int) throws {
    try self.connection.execute(QuarantineRow.insertEntry, date, "checksum", String?.none, id)
  }

  private func left() throws -> [Int64] {
    try self.connection.rows("SELECT quarantined_at FROM quarantine ORDER BY id") {
      try $0.integer(at: 0)
    }
  }

  @Test func anEntryAndItsPagesAreKeptAsTheyWere() throws {
    try self.connection.write {
      try self.quarantine(1, at: 5)
      try self.connection.execute(
        QuarantineRow.insertPages, 5, QuarantineRow.Reason.checksum.rawValue, "why", 1)
      try self.connection.execute(EntryRow.delete, 1)
    }
    let rows = try self.connection.rows(
      "SELECT value, identity, byte_count, position FROM quarantine ORDER BY id"
    ) {
      (
        try $0.data(at: 0), try $0.text(at: 1), try $0.integer(at: 2),
        try $0.optionalInteger(at: 3)
      )
    }
    #expect(rows.map(\.0) == [EntryRow.sample(1).value, Data([2, 3])])
    #expect(rows.allSatisfy { $0.1 == EntryRow.sample(1).identity })
    #expect(rows.map(\.2) == [1_024, 3])
    #expect(rows.map(\.3) == [nil, 3])
  }

  @Test(
    arguments: [
      (3, 100, 1 << 24, [3, 4]), (0, 1, 1 << 24, [4]), (0, 100, 2_500, [3, 4]),
      (0, 100, 1 << 24, [1, 2, 3, 4]),
    ] as [(Int, Int, Int, [Int64])])
  func theOldestGoFirstByEachLimit(
    _ oldest: Int,
    _ rows: Int,
    _ bytes: Int,
    _ left: [Int64]
  ) throws {
    try self.connection.write {
      for number in 1...4 { try self.quarantine(number, at: number) }
      try self.connection.execute(QuarantineRow.prune, 1, oldest, rows, bytes)
    }
    #expect(try self.left() == left)
  }
}
