import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct StatementCacheTests {
  private let folder: TemporaryFolder
  private let connection: SQLiteConnection

  init() throws {
    self.folder = try TemporaryFolder()
    var options = SQLiteConnection.Options()
    options.statementCapacity = 2
    self.connection = try .scratch(in: self.folder, options: options)
    self.connection.statements.removeAll()
  }

  private func run(_ sql: SQL) throws { _ = try self.connection.first(sql) { _ in } }

  @Test func aTextIsPreparedOnce() throws {
    let sql: SQL = "SELECT 10"
    let first = try self.connection.withStatement(sql) { $0 }
    let second = try self.connection.withStatement(sql) { $0 }
    #expect(first === second)
    #expect(self.connection.statements.count == 1)
  }

  @Test func theOneNotUsedForLongestGoes() throws {
    let texts: [SQL] = ["SELECT 1", "SELECT 2", "SELECT 3"]
    let first = try self.connection.withStatement(texts[0]) { $0 }
    let second = try self.connection.withStatement(texts[1]) { $0 }
    try self.run(texts[0])
    try self.run(texts[2])
    #expect(self.connection.statements.count == 2)
    #expect(try self.connection.withStatement(texts[0]) { $0 } === first)
    #expect(try self.connection.withStatement(texts[1]) { $0 } !== second)
  }

  @Test func aStatementInUseIsNotGivenOutTwice() throws {
    let sql: SQL = "SELECT 1 UNION SELECT 2"
    let isOther = try self.connection.withStatement(sql) { outer in
      #expect(try outer.step())
      let isOther = try self.connection.withStatement(sql) { $0 !== outer }
      #expect(try outer.integer(at: 0) == 1)
      #expect(try outer.step())
      return isOther
    }
    #expect(isOther)
    #expect(self.connection.statements.count == 1)
  }

  @Test func noneInUseIsEvicted() throws {
    let texts: [SQL] = ["SELECT 1", "SELECT 2", "SELECT 3"]
    try self.connection.withStatement(texts[0]) { first in
      try self.connection.withStatement(texts[1]) { second in
        try self.run(texts[2])
        #expect(try first.step())
        #expect(try second.step())
      }
    }
    #expect(self.connection.statements.count == 2)
  }

  @Test func aStatementThatFailedIsNotUsedAgain() throws {
    let sql: SQL = "SELECT abs(?)"
    let kept = try self.connection.withStatement(sql) { $0 }
    #expect(throws: StorageError.self) {
      try self.connection.first(sql, Int64.min) { try $0.integer(at: 0) }
    }
    #expect(self.connection.statements.count == 0)
    #expect(try self.connection.withStatement(sql) { $0 } !== kept)
  }

  @Test func aTextThatCannotBePreparedLeavesNothing() throws {
    let error = #expect(throws: StorageError.self) { try self.run("SELECT misspelled") }
    #expect(error?.operation == "prepare")
    #expect(error?.message == "no such column: misspelled")
    #expect(error?.sql == "SELECT misspelled")
    #expect(self.connection.statements.count == 0)
    // A misspelled column is not taken for a text.
    #expect(throws: StorageError.self) { try self.run("SELECT \"misspelled\"") }
  }
}
