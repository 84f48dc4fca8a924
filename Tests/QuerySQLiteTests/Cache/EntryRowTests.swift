import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct EntryRowTests {
  private let folder: TemporaryFolder
  private let connection: SQLiteConnection

  init() throws {
    self.folder = try TemporaryFolder()
    self.connection = try DatabaseOpener(.cache, in: self.folder).openWriter()
    try self.connection.write { try self.connection.execute(PartitionRow.insert, "") }
  }

  private func read(_ row: EntryRow) throws -> EntryRow? {
    try EntryRow.whole(partition: row.partition, row.hash, on: self.connection)
  }

  @Test func everyColumnComesBack() throws {
    var row = EntryRow.sample(1)
    row.identity = "a\0b'\""
    row.valueUpdateCount = 3
    row.errorUpdatedAt = 7
    row.errorUpdateCount = 8
    row.errorType = "T"
    row.errorText = ""
    row.invalidatedAt = 7
    row.isPinned = true
    row.expiresAt = -1
    row.nextPageID = Data()
    row.previousPageID = Data([0])
    row.metadata = Data([7])
    row.freshFor = 9
    try self.connection.write { try row.insert(into: self.connection) }
    row.id = 1
    #expect(try self.read(row) == row)
  }

  @Test func anUpdateKeepsTheRowAndItsUse() throws {
    let first = EntryRow.sample(1)
    var second = EntryRow.sample(1, revision: 2, value: nil)
    second.value = nil
    second.checksum = nil
    second.lastUse = 99
    try self.connection.write {
      try first.insert(into: self.connection)
      second.id = try self.connection.lastInsertedID
      try second.update(in: self.connection)
    }
    second.lastUse = 1
    #expect(try self.read(second) == second)
  }

  @Test func theStateIsWrittenBesideTheValue() throws {
    var row = EntryRow.sample(1)
    try self.connection.write { try row.insert(into: self.connection) }
    row.id = 1
    row.revision = 2
    row.valueUpdatedAt = 5
    row.invalidatedAt = 7
    row.nextPageID = Data([1])
    try self.connection.write { try row.updateState(in: self.connection) }
    #expect(try self.read(row) == row)
  }

  @Test func pagesAreOrderedByPositionAndGoWithTheirEntry() throws {
    let entry = EntryRow.sample(1)
    let pages = [2, 0, 1].map { (position: Int64) in
      PageRow(
        entry: 1, position: position, updatedAt: 1, checksum: XXH128(hashing: ""),
        pageID: Data([UInt8(position)]), value: Data())
    }
    try self.connection.write {
      try entry.insert(into: self.connection)
      for page in pages { try page.write(to: self.connection) }
      try pages[0].write(to: self.connection)
    }
    let found = try PageRow.whole(of: 1, on: self.connection)
    #expect(found.map(\.position) == [0, 1, 2])
    try self.connection.write { try self.connection.execute(EntryRow.delete, 1) }
    #expect(try self.connection.pragma("SELECT count(*) FROM pages") == "0")
  }

  @Test func changesComeInTheirOrder() throws {
    try self.connection.write {
      for number in 1...3 {
        try EntryRow.sample(number, revision: Int64(10 - number)).insert(into: self.connection)
      }
    }
    let changed = try self.connection.rows(EntryRow.readChanged, 1, 7) { try $0.text(at: 0) }
    #expect(changed == [EntryRow.sample(2).identity, EntryRow.sample(1).identity])
  }
}
