import Testing

@testable import QuerySQLite

/// Statements are literals, or assembled from literals and names of columns.
@Suite struct SQLTests {
  private static let columns: SQLColumns = ["id", "lease_token"]

  @Test func aTextIsAssembledOfColumns() {
    let insert = SQL(assembling: "INSERT INTO t \((Self.columns + ["name"]).values)")
    #expect(insert.text.description == "INSERT INTO t (id, lease_token, name) VALUES (?, ?, ?)")
    let update = SQL(assembling: "UPDATE t SET \(Self.columns.assignments) WHERE é = 1")
    #expect(update.text.description == "UPDATE t SET id = ?, lease_token = ? WHERE é = 1")
    let read = Self.columns.list(replacing: ["id": "CASE id WHEN 1 THEN 2 END"])
    #expect(read.text == "CASE id WHEN 1 THEN 2 END, lease_token")
  }

  @Test func eachTextHasAnAddressOfItsOwn() {
    let first = SQL(assembling: "SELECT \(Self.columns.list)")
    let second = SQL(assembling: "SELECT \(Self.columns.list)")
    #expect(first.address != second.address)
    #expect(first.text.description == second.text.description)
    let literal: SQL = "SELECT 1"
    #expect(literal.text.description == "SELECT 1")
  }

  @Test func aNameThatIsNoWordIsRefused() async {
    await #expect(processExitsWith: .failure) { _ = SQLColumns(["id; DROP TABLE outbox"]) }
  }
}
