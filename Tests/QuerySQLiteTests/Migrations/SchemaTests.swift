import Foundation
import Migrations
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct SchemaTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  @Test(arguments: DatabaseKind.allCases)
  func allTablesAreStrictAndHaveAComment(_ kind: DatabaseKind) throws {
    let connection = try DatabaseOpener(kind, in: self.folder).openWriter()
    let tables = try connection.rows(
      """
      SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%'
      """
    ) { (try $0.text(at: 0), try $0.bool(at: 1)) }
    #expect(tables.count > 4)
    let sql = String(decoding: kind.migrations.flatMap(\.sql), as: UTF8.self)
    for (name, isStrict) in tables {
      #expect(isStrict, "\(name)")
      let lines = sql.split(separator: "\n", omittingEmptySubsequences: false)
      let line = try #require(lines.firstIndex(of: "CREATE TABLE \(name) ("))
      #expect(lines[line - 1].hasPrefix("-- "), "\(name)")
    }
  }

  @Test(arguments: [
    ("SELECT 1 FROM entries WHERE partition = 1 AND identity = ''", "entries_by_identity"),
    ("SELECT 1 FROM entries WHERE partition = 1 AND revision > 1", "entries_by_revision"),
    ("SELECT 1 FROM pages WHERE entry = 1 ORDER BY position", "pages_by_position"),
    ("SELECT max(revision) FROM entries WHERE partition = 1", "entries_by_revision"),
    (
      "SELECT 1 FROM entries WHERE partition = 1 AND last_use > 1 ORDER BY last_use",
      "entries_by_use"
    ),
    (
      """
      SELECT 1 FROM entries WHERE partition = 1 AND expires_at < 9 AND (expires_at, id) > (1, 2)
      ORDER BY expires_at, id
      """, "entries_by_expiry"
    ),
  ])
  func theCacheIsReadByItsIndexes(_ sql: String, _ index: String) throws {
    let path = try DatabaseOpener(.cache, in: self.folder).openWriter().path
    let plan = try self.plan(of: sql, path)
    #expect(plan.contains(index))
    #expect(!plan.contains("TEMP B-TREE"))
  }

  @Test(arguments: [
    (
      """
      SELECT number FROM outbox
      WHERE has_waited <> 0 AND partition = 1 AND name = 'n' AND instance = '[]'
      """, "outbox_by_name"
    ),
    ("SELECT count(*) FROM outbox WHERE partition = 1 AND state = 'dead'", "outbox_dead"),
    ("SELECT dependant FROM dependencies WHERE target = 3", "dependencies_by_target"),
    (
      """
      SELECT sequence FROM history WHERE partition = 1 AND name = 'n' AND instance = '[]'
        ORDER BY sequence DESC LIMIT 50
      """, "history_by_name"
    ),
  ])
  func theOutboxIsReadByItsIndexes(_ sql: String, _ index: String) throws {
    let path = try DatabaseOpener(.mutations, in: self.folder).openWriter().path
    let plan = try self.plan(of: sql, path)
    #expect(plan.contains(index))
    #expect(!plan.contains("TEMP B-TREE"))
  }

  /// What `EXPLAIN QUERY PLAN` says.
  private func plan(of sql: String, _ path: String) throws -> String {
    let connection = try SQLiteConnection(path: path)
    return try connection.rowsOfText("EXPLAIN QUERY PLAN \(sql)").joined(separator: "\n")
  }
}
