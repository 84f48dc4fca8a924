import Foundation
import Query
import QueryInspection
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §10: an account of the outbox is erased by one small commit, and then cleaned up in steps.
@Suite struct ErasedMutationsTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  /// A connection as the library opens it.
  private func open() throws -> SQLiteConnection {
    try DatabaseOpener(
      .mutations, in: self.folder.path, SQLiteQueryStorage.Configuration()
    ).openWriter()
  }

  private static let tables = [
    "outbox", "history", "aliases", "attempts", "dependencies", "lane_heads", "forgotten",
  ]

  private func count(_ connection: SQLiteConnection) throws -> Int {
    try Self.tables.reduce(0) { sum, table in
      let text = try connection.rowsOfText("SELECT count(*) FROM \(table)").first
      return sum + (text.flatMap { Int($0) } ?? 0)
    }
  }

  private func erase(_ name: String, _ connection: SQLiteConnection) throws {
    try connection.write {
      let terms = OutboxTransaction.Terms(
        owner: nil, leases: [:], leaseLength: .seconds(30), limits: MutationHistoryLimits(),
        reaper: OutboxReaper(folder: self.folder.path), synchronisedAt: nil, isHistoryAgeDue: false)
      var changes = try OutboxTransaction(
        partitionNamed: name, on: connection, terms, handlers: nil, BootClock().clock.now())
      try changes.erase()
      try changes.finish()
    }
  }

  /// Two accounts, with rows of each kind.
  private func fill() async throws {
    let gone = try OutboxScratch(in: self.folder, partition: "gone")
    let kept = try OutboxScratch(in: self.folder, partition: "kept")
    for (scratch, text) in [(gone, "secret"), (kept, "of another")] {
      for number in 0..<20 {
        let first = try await scratch.add("\(text) \(number)", lane: "lane \(number % 3)")
        try await scratch.add("\(text) \(number) after", after: [first])
      }
      for lease in try await scratch.claim(3) {
        let success = SuccessfulAttempt(
          result: Data(text.utf8), aliases: ["\(text) \(lease.entry.number)": text])
        #expect(try await scratch.outbox.settle(lease, .succeeded(success)))
      }
      for lease in try await scratch.claim(2) {
        #expect(try await scratch.outbox.settle(lease, OutboxScratch.failure(.now)))
      }
    }
    try await gone.storage.close()
    try await kept.storage.close()
  }

  /// A check reads in steps, and an account may be erased between two of them.
  @Test func aCheckFindsNothingWrongWithAnAccountThatIsErasedMeanwhile() async throws {
    try await self.fill()
    let connection = try self.open()
    var findings = [InspectionFinding]()
    var isErased = false
    let inspection = try StoreInspection(directory: URL(filePath: self.folder.path))
    try inspection.check(
      progress: { progress in
        guard progress.step == "mutations", !isErased else { return }
        isErased = true
        for name in ["gone", "kept"] { try self.erase(name, connection) }
        let erased = ErasedMutations(on: connection)
        // Some of the rows are deleted, in no order that a reader could rely on.
        try connection.write {
          let numbers = try connection.rows("SELECT id FROM partitions WHERE is_erasing = 2") {
            try $0.integer(at: 0)
          }
          for number in numbers {
            #expect(try !erased.delete(number, StepBudget(rows: 7)))
          }
        }
      }, found: { findings.append($0) })
    #expect(isErased && findings.isEmpty)
    try connection.close()
  }

  @Test func itIsGoneAtOnceAndDeletedInStepsByWhoeverOpensTheFileNext() async throws {
    try await self.fill()
    let connection = try self.open()
    try self.erase("gone", connection)
    var left = try self.count(connection)
    let erased = ErasedMutations(on: connection)
    // Killed after some steps. A row goes with its head, its attempts and what it depends on.
    for _ in 0..<3 {
      let isDone = try connection.write { try erased.delete(1, .rows(4)) }
      let now = try self.count(connection)
      #expect(!isDone && (4...16).contains(left - now))
      left = now
    }
    try connection.close()
    let kept = try OutboxScratch(in: self.folder, partition: "kept")
    let entries = try kept.outbox.entries()
    #expect(entries.count == 37)
    #expect(entries.allSatisfy { String(decoding: $0.arguments, as: UTF8.self).hasPrefix("of") })
    let gone = try OutboxScratch(in: self.folder, partition: "gone")
    #expect(try gone.outbox.counts.rows == OutboxCounts())
    #expect(try gone.outbox.history(of: "note", instance: "[]").isEmpty)
    #expect(try kept.rows("SELECT count(*) FROM partitions") == ["2"])
    #expect(try kept.rows("SELECT sum(is_erasing) FROM partitions") == ["0"])
    #expect(try kept.rows("PRAGMA integrity_check") == ["ok"])
    try await kept.storage.close()
    try await gone.storage.close()
    for name in ["mutations.sqlite", "mutations.sqlite-wal"] {
      let bytes = try Data(contentsOf: URL(filePath: "\(self.folder.path)/\(name)"))
      #expect(bytes.range(of: Data("secret".utf8)) == nil, "\(name)")
    }
  }

  @Test func whatIsEnqueuedWhileItIsDeletedStays() async throws {
    try await self.fill()
    let connection = try self.open()
    try self.erase("gone", connection)
    // Another process, which opens the file and finishes it.
    let gone = try OutboxScratch(in: self.folder, partition: "gone")
    let id = try await gone.add("new")
    let erased = ErasedMutations(on: connection)
    try Erasure(connection: connection, deleteRows: erased.delete) {}.finish(patience: .seconds(5))
    #expect(try gone.outbox.entries().map(\.id) == [id])
    #expect(try await gone.claim().map(\.entry.id) == [id])
    try connection.close()
    try await gone.storage.close()
  }

  @Test func aSalvagePassesOverIt() async throws {
    try await self.fill()
    let connection = try self.open()
    try self.erase("gone", connection)
    let path = "\(self.folder.path)/mutations.sqlite"
    let copy = try TemporaryFolder()
    _ = try connection.checkpoint(.full)
    let opener = DatabaseOpener(.mutations, in: copy)
    let new = try opener.openWriter()
    let source = try SalvageSource(path: path, opener)
    let report = try new.write {
      try OutboxRestoration(from: source, to: new, in: copy.path, now: BootClock().clock.now())
        .run(of: "it")
    }
    #expect(report?.rows == 37 && report?.ended == 3)
    #expect(try new.rowsOfText("SELECT name FROM partitions") == ["kept"])
    let ids = "SELECT id FROM outbox UNION SELECT id FROM history"
    #expect(
      try new.rowsOfText("SELECT count(*) FROM attempts WHERE mutation NOT IN (\(ids))") == ["0"])
    try connection.close()
    try new.close()
  }
}
