import Foundation
import Query
import Testing

@testable import QuerySQLite

@Suite struct EntryStampTests {
  private let cache: CacheScratch

  init() throws { self.cache = try CacheScratch() }

  /// A row that has something in every column.
  private static var full: EntryRow {
    var row = EntryRow.sample(1)
    row.errorUpdatedAt = 7
    row.errorUpdateCount = 8
    row.errorType = "T"
    row.errorText = "t"
    row.expiresAt = 9
    row.nextPageID = Data([1])
    row.previousPageID = Data([2])
    return row
  }

  private func difference(to wanted: EntryRow) throws -> EntryStamp.Difference? {
    try self.cache.connection.first(EntryRow.readStamp, 1, wanted.identity) {
      try EntryStamp($0, wanted: wanted)
    }?.difference
  }

  @Test func numberRevisionUseAndTheValuesBytesAreNoDifference() throws {
    try self.cache.connection.write { try Self.full.insert(into: self.cache.connection) }
    var wanted = Self.full
    wanted.id = 5
    wanted.revision = 6
    wanted.lastUse = nil
    wanted.value = nil
    #expect(try self.difference(to: wanted) == EntryStamp.Difference.none)
  }

  @Test(
    arguments: [
      { $0.identity = "e\u{301}" }, { $0.identity = "" }, { $0.identity += "\0" },
    ] as [@Sendable (inout EntryRow) -> Void])
  func anotherIdentityIsNeverWrittenOver(_ edit: @Sendable (inout EntryRow) -> Void) throws {
    var stored = Self.full
    stored.identity = "\u{e9}"
    try self.cache.connection.write { try stored.insert(into: self.cache.connection) }
    #expect(try self.difference(to: stored) == EntryStamp.Difference.none)
    edit(&stored)
    #expect(try self.difference(to: stored) == nil)
  }

  @Test(
    arguments: [
      { $0.kind = "infinite" }, { $0.coder = "x" }, { $0.valueVersion = 2 },
      { $0.checksum = nil }, { $0.checksum = XXH128(hashing: "") },
    ] as [@Sendable (inout EntryRow) -> Void])
  func anotherChecksumOrCodingIsAnotherValue(_ edit: @Sendable (inout EntryRow) -> Void) throws {
    try self.check(edit, .value)
  }

  @Test(
    arguments: [
      { $0.valueUpdatedAt = nil }, { $0.valueUpdatedAt = 7 }, { $0.valueUpdateCount = 2 },
      { $0.freshFor = 8 },
    ] as [@Sendable (inout EntryRow) -> Void])
  func whatAConfirmationChangesIsTheDate(_ edit: @Sendable (inout EntryRow) -> Void) throws {
    try self.check(edit, .date)
  }

  @Test(
    arguments: [
      { $0.errorUpdatedAt = 0 },
      { $0.errorUpdateCount = 0 }, { $0.errorType = nil }, { $0.errorText = "" },
      { $0.invalidatedAt = 7 }, { $0.invalidatedAt = -7 }, { $0.isPinned = true },
      { $0.expiresAt = nil },
      { $0.byteCount = 0 }, { $0.nextPageID = nil }, { $0.previousPageID = Data() },
    ] as [@Sendable (inout EntryRow) -> Void])
  func whatElseIsDifferentIsState(_ edit: @Sendable (inout EntryRow) -> Void) throws {
    try self.check(edit, .state)
  }

  /// Edits a stored row, looks for the difference, and writes it: then there is none.
  private func check(
    _ edit: @Sendable (inout EntryRow) -> Void,
    _ difference: EntryStamp.Difference
  ) throws {
    try self.cache.connection.write { try Self.full.insert(into: self.cache.connection) }
    var wanted = Self.full
    wanted.id = 1
    edit(&wanted)
    #expect(try self.difference(to: wanted) == difference)
    try self.cache.connection.write {
      if difference == .value {
        try wanted.update(in: self.cache.connection)
      } else {
        try wanted.updateState(in: self.cache.connection)
      }
    }
    #expect(try self.difference(to: wanted) == EntryStamp.Difference.none)
    #expect(try EntryRow.whole(wanted.hash, on: self.cache.connection) == wanted)
  }
}
