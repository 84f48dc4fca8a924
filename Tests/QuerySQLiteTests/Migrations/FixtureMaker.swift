import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Makes the fixtures of the newest level: `MAKE_FIXTURES=1 swift test --filter FixtureMaker`. Once
/// a level was released, its fixtures stay as they are.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["MAKE_FIXTURES"] != nil))
struct FixtureMaker {
  private let folder: TemporaryFolder
  private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Fixtures")

  init() throws { self.folder = try TemporaryFolder() }

  @Test func makeTheCache() throws {
    let opener = DatabaseOpener(.cache, in: self.folder)
    let connection = try opener.openWriter()
    try connection.write {
      try connection.execute(PartitionRow.insert, "a\0b")
      try connection.execute(PartitionRow.updateTotals, 1, 2, 2_048, 1)
      try EntryRow.sample(1).insert(into: connection)
      var infinite = EntryRow.sample(2)
      infinite.kind = "infinite"
      (infinite.totalEntries, infinite.totalBytes) = (2, 2_048)
      infinite.value = nil
      infinite.checksum = nil
      infinite.nextPageID = Data("2".utf8)
      infinite.errorUpdatedAt = 1_700_000_001_000_000
      infinite.errorUpdateCount = 1
      infinite.errorType = "Foundation.URLError"
      infinite.errorText = "offline"
      let pages = (0..<2).map { number in
        let id = Data("\(number)".utf8)
        let value = Data(repeating: UInt8(number), count: 512)
        return PageRow(
          entry: 2, position: Int64(number) * PageRow.gap, updatedAt: 1_700_000_000_000_000,
          checksum: XXH128(pageID: id, value: value), pageID: id, value: value)
      }
      infinite.checksum = XXH128(
        pages: pages.map(\.checksum), next: infinite.nextPageID, previous: nil)
      try infinite.insert(into: connection)
      for page in pages { try page.write(to: connection) }
    }
    try self.keep(opener, connection)
  }

  @Test func makeTheOutbox() throws {
    let insert: SQL = """
      INSERT INTO outbox (partition, id, idempotency_key, name, instance, version, lane, on_failure,
        coalesce, created_at, age_at, age_boottime, age_boot_id, age_is_synchronised, state, coder,
        checksum, arguments)
      VALUES (1, ?, 'key-' || ?, 'edit-note', '["edit-note"]', 1, 'note-1', 'continue', 'none',
        1700000000000000, 1700000000000000, 1000000, 'boot', 1, ?, 'json', ?, ?)
      """
    let opener = DatabaseOpener(.mutations, in: self.folder)
    let connection = try opener.openWriter()
    try connection.write {
      try connection.execute(PartitionRow.insert, "")
      for (number, state) in ["pending", "pending", "leased", "dead"].enumerated() {
        let arguments = Data(#"{"id":1,"text":"\#(number)"}"#.utf8)
        let id = try #require(UUID(uuidString: "00000000-0000-0000-0000-00000000000\(number)"))
        try connection.execute(insert, id, number, state, XXH128(hashing: arguments), arguments)
      }
      try connection.execute("DELETE FROM outbox WHERE number = 2")
      try connection.execute("UPDATE partitions SET last_number = 4")
      try connection.execute(
        """
        INSERT INTO lane_heads (number, partition, lane, name, instance, version, host, state)
        VALUES (1, 1, 'note-1', 'edit-note', '["edit-note"]', 1, 'name:edit-note', 'ready')
        """)
      try connection.execute("INSERT INTO dependencies (dependant, target) VALUES (3, 1)")
    }
    try self.keep(opener, connection)
  }

  private func keep(_ opener: DatabaseOpener, _ connection: SQLiteConnection) throws {
    _ = try connection.checkpoint(.truncate)
    try connection.close()
    let level = opener.migrations.count
    let fixture = Self.fixtures.appending(path: "\(opener.kind)-level-\(level).sqlite")
    try? FileManager.default.removeItem(at: fixture)
    try FileManager.default.copyItem(atPath: opener.path, toPath: fixture.path)
  }
}
