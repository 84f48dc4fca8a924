import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct SQLiteStatementTests {
  private let folder: TemporaryFolder
  private let connection: SQLiteConnection

  init() throws {
    self.folder = try TemporaryFolder()
    self.connection = try .scratch(in: self.folder)
  }

  @Test(arguments: ["", "a\0b", "\0", "\0\0'\"; --", "é", String(repeating: "x", count: 1 << 20)])
  func textComesBackAsItWasBound(_ text: String) throws {
    let back = try self.connection.first("SELECT ?, length(CAST(?1 AS BLOB))", text) {
      (try $0.text(at: 0), try $0.integer(at: 1))
    }
    #expect(back?.0 == text)
    #expect(back?.1 == Int64(text.utf8.count))
  }

  @Test(arguments: [Data(), Data([0]), Data([0, 1, 0]), Data(repeating: 7, count: 1 << 20)])
  func bytesComeBackAsTheyWereBound(_ data: Data) throws {
    let back = try self.connection.first("SELECT ?, typeof(?1)", data) {
      (try $0.data(at: 0), try $0.text(at: 1))
    }
    #expect(back?.0 == data)
    #expect(back?.1 == "blob")
  }

  @Test func aSliceOfBytesIsBoundFromItsStart() throws {
    let slice = Data([1, 2, 3, 4])[2...]
    #expect(try self.connection.first("SELECT ?", slice) { try $0.data(at: 0) } == Data([3, 4]))
  }

  @Test func numbersComeBackAsTheyWereBound() throws {
    let back = try self.connection.first("SELECT ?, ?, ?, ?", Int64.min, 1.5, true, Int.max) {
      (
        try $0.integer(at: 0), try $0.real(at: 1), try $0.bool(at: 2), try $0.integer(at: 3)
      )
    }
    #expect(back?.0 == .min)
    #expect(back?.1 == 1.5)
    #expect(back?.2 == true)
    #expect(back?.3 == .max)
  }

  @Test func nilIsNull() throws {
    let isNull = try self.connection.first("SELECT ?, ?, ?", Int?.none, Data?.none, String?.none) {
      row in
      try (0..<3).allSatisfy { row.isNull(at: $0) } && row.optionalText(at: 0) == nil
        && row.optionalData(at: 1) == nil && row.optionalInteger(at: 2) == nil
    }
    #expect(isNull == true)
  }

  @Test func identifiersAndHashesAreSixteenBytes() throws {
    let id = UUID()
    let hash = XXH128(hashing: "a")
    let back = try self.connection.first("SELECT ?, ?", id, hash) {
      (try $0.data(at: 0), try $0.hash(at: 1))
    }
    #expect(back?.0 == withUnsafeBytes(of: id.uuid) { Data($0) })
    #expect(back?.1 == hash)
  }

  @Test func aValueOfAnotherTypeIsAMismatchThatNamesTheColumn() throws {
    let error = #expect(throws: StorageError.self) {
      try self.connection.first("SELECT 'secret' AS answer") { try $0.integer(at: 0) }
    }
    #expect(error?.code == .mismatch)
    #expect(error?.message == "answer: it has type 3, not 1")
    #expect(throws: StorageError.self) {
      try self.connection.first("SELECT ?", Data([1])) { try $0.hash(at: 0) }
    }
    #expect(throws: StorageError.self) {
      try self.connection.first("SELECT NULL") { try $0.text(at: 0) }
    }
  }

  @Test func whatWasBoundIsForgottenAfterEachUse() throws {
    let sql: SQL = "SELECT ? AS value"
    #expect(try self.connection.first(sql, "a") { try $0.text(at: 0) } == "a")
    let isNull = try self.connection.withStatement(sql) { statement in
      _ = try statement.step()
      return statement.isNull(at: 0)
    }
    #expect(isNull)
  }

  @Test func aStatementIsResetWhereItsUserThrows() throws {
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try self.connection.first("SELECT 1") { _ in throw Stop() }
    }
    // A statement that is still running would keep the read open, and the close busy.
    try self.connection.close()
  }

  @Test func aValueNeverShowsInAnErrorUnlessAskedFor() throws {
    try self.connection.write { try self.connection.execute(Scratch.insert, "secret") }
    let error = #expect(throws: StorageError.self) {
      try self.connection.write { try self.connection.execute(Scratch.insert, "secret") }
    }
    #expect(error?.code == .constraint)
    #expect(error?.extendedCode.rawValue == 2_067)
    #expect(error?.sql == "INSERT INTO texts (text) VALUES (?)")
    #expect(error?.fileName == "scratch.sqlite")
    #expect(error?.expandedSQL == nil)
    #expect(error.map { "\($0)".contains("secret") } == false)

    var options = SQLiteConnection.Options()
    options.revealsValues = true
    let open = try SQLiteConnection.scratch(in: self.folder, options: options)
    let shown = #expect(throws: StorageError.self) {
      try open.write { try open.execute(Scratch.insert, "secret") }
    }
    #expect(shown?.expandedSQL == "INSERT INTO texts (text) VALUES ('secret')")
  }

  @Test func aTextTooLongForSQLiteIsAnErrorOfTheBinding() throws {
    let data = Data(count: 1_000_000_001)
    let error = #expect(throws: StorageError.self) {
      try self.connection.first("SELECT length(?)", data) { try $0.integer(at: 0) }
    }
    #expect(error?.code == .tooBig)
    #expect(error?.operation == "bind")
  }
}
