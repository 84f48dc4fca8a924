import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Whole numbers that no release has written, in every column of both files: nothing traps, and no
/// mutation is gone without a word.
@Suite(.serialized) struct HostileNumbersTests {
  private static let values: [Int64] =
    ProcessInfo.processInfo.environment["FULL"] == nil ? [.max] : [.max, .min, -1]

  /// A folder with rows in every table, and the identifiers of the live ones.
  private static func fill(_ folder: TemporaryFolder) async throws -> Set<UUID> {
    let scratch = try OutboxScratch(in: folder)
    let ended = try await scratch.add("ended")
    let dead = try await scratch.add("dead")
    for (lease, outcome) in zip(
      try await scratch.claim(2), [OutboxScratch.success, OutboxScratch.failure(.dead(.rejected))])
    {
      #expect(try await scratch.outbox.settle(lease, outcome))
    }
    let alias = try await scratch.add("publisher")
    let publisher = try #require(try await scratch.claim().first)
    #expect(try await scratch.outbox.settle(publisher, .success(publishing: "a", "b")))
    let waiting = try await scratch.add("waiting")
    let attempt = try #require(try await scratch.claim().first)
    #expect(
      try await scratch.outbox.settle(
        attempt, OutboxScratch.failure(.wait(.backoff, .seconds(3_600)))))
    let first = try await scratch.add("first", lane: "lane")
    let second = try await scratch.add("second", lane: "lane")
    let dependant = try await scratch.add("dependant", after: [first])
    _ = (ended, alias)
    try await scratch.storage.set(["a": "text", "long": String(repeating: "x", count: 4_000)])
    try await scratch.storage.close()
    return [dead, waiting, first, second, dependant]
  }

  /// Tables and columns of whole numbers, and whether each of its values must be another one.
  private static func columns(
    of kind: DatabaseKind, in folder: TemporaryFolder
  ) throws -> [(table: String, column: String)] {
    let connection = try SQLiteConnection(path: "\(folder.path)/\(kind.fileName)")
    defer { try? connection.close() }
    var columns = [(String, String)]()
    let tables = try connection.rowsOfText(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'migrations'")
    for table in tables {
      let names = try connection.rowsOfText(
        "SELECT name FROM pragma_table_info('\(table)') WHERE type = 'INTEGER'")
      columns += names.map { (table, $0) }
    }
    return columns
  }

  private static func set(
    _ value: Int64, _ table: String, _ column: String, _ path: String
  ) throws {
    let connection = try SQLiteConnection(path: path)
    defer { try? connection.close() }
    try connection.pragma("PRAGMA foreign_keys = 0")
    // If no two may be the same, one of them is.
    _ = try connection.rowsOfText("UPDATE OR IGNORE \(table) SET \(column) = \(value)")
  }

  @Test(arguments: Self.values)
  func noNumberInTheOutboxStopsItOrLosesAMutation(_ value: Int64) async throws {
    let origin = try TemporaryFolder()
    let live = try await Self.fill(origin)
    for (table, column) in try Self.columns(of: .mutations, in: origin) {
      let folder = try TemporaryFolder()
      try FolderContents.copy(origin.path, to: folder.path)
      try Self.set(value, table, column, "\(folder.path)/mutations.sqlite")
      let found = try await Self.use(folder)
      let lost = live.subtracting(found)
      #expect(lost.isEmpty, "\(table).\(column) = \(value)")
    }
  }

  /// Does everything once.
  ///
  /// - Returns: The mutations that are there, in whichever account, or were carried out.
  private static func use(_ folder: TemporaryFolder) async throws -> Set<UUID> {
    // That nothing is waited for on the disk has no part in this.
    let scratch = try OutboxScratch(in: folder) { $0.outboxDurability = .normal }
    var found = Set<UUID>()
    for entry in try scratch.outbox.entries(in: nil) {
      found.insert(entry.id)
      _ = try scratch.outbox.why(entry.id)
      _ = try scratch.outbox.attempts(of: entry.id)
    }
    _ = try scratch.outbox.counts
    let new = try await scratch.add("new")
    let leases = try await scratch.claim(10)
    for (number, lease) in leases.enumerated() {
      found.insert(lease.entry.id)
      let outcome =
        number == 0 ? OutboxScratch.success : OutboxScratch.failure(.wait(.backoff, .zero))
      #expect(try await scratch.outbox.settle(lease, outcome))
    }
    try await scratch.outbox.release(.authentication)
    for entry in try scratch.outbox.entries(in: .dead) {
      _ = try await scratch.outbox.retry(entry.id, newKey: true)
    }
    #expect(
      try scratch.outbox.entry(new) != nil
        || scratch.outbox.history(of: "note", instance: "[]").contains { $0.id == new })
    let lost = try scratch.rows(
      "SELECT lower(hex(id)) FROM outbox WHERE partition IN "
        + "(SELECT id FROM partitions WHERE name LIKE 'lost account%')")
    found.formUnion(lost.compactMap { UUID(hex: $0) })
    try await scratch.storage.erase()
    #expect(try scratch.outbox.counts.rows == OutboxCounts())
    try await scratch.storage.close()
    return found
  }

  @Test(arguments: Self.values)
  func noNumberInTheCacheStopsIt(_ value: Int64) async throws {
    let origin = try TemporaryFolder()
    _ = try await Self.fill(origin)
    for (table, column) in try Self.columns(of: .cache, in: origin) {
      let folder = try TemporaryFolder()
      try FolderContents.copy(origin.path, to: folder.path)
      try Self.set(value, table, column, "\(folder.path)/cache.sqlite")
      let trial = try StorageTrial(in: folder.path)
      _ = await trial.storage.text("a")
      _ = await trial.storage.text("long")
      trial.set("b", "new")
      await trial.recover()
      #expect(await trial.flush() == nil, "\(table).\(column) = \(value)")
      #expect(await trial.text("b") == "new", "\(table).\(column) = \(value)")
      try await trial.storage.erase()
      await trial.close()
    }
  }
}

extension UUID {
  /// Of 32 digits.
  fileprivate init?(hex: String) {
    var text = hex
    for place in [20, 16, 12, 8] {
      text.insert("-", at: text.index(text.startIndex, offsetBy: place))
    }
    self.init(uuidString: text)
  }
}
