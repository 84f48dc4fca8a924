import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// How the mutations of an outbox on disk are read.
@Suite struct OutboxReadingTests {
  /// Another caller may give one back in time.
  @Test func whereAllConnectionsAreTakenAReaderWaitsForAsLongAsItMay() async throws {
    let patience = Duration.milliseconds(50)
    let scratch = try OutboxScratch {
      $0.readConnections = 1
      $0.busyTimeout = patience
    }
    try await scratch.add()
    let outbox = try #require(scratch.outbox as? SQLiteOutbox)
    let hasRead: Void? = try outbox.database.readers.tryRead { _ in
      let begin = SuspendingClock.now
      let error = #expect(throws: StorageError.self) { try outbox.entries(in: nil) }
      #expect(error?.code == .busy)
      #expect(SuspendingClock.now - begin >= patience)
    }
    #expect(hasRead != nil)
    #expect(try outbox.entries(in: nil).count == 1)
    try await scratch.storage.close()
  }

  private static func tables(_ scratch: OutboxScratch) throws -> OutboxTables {
    try OutboxTables(
      partitionNamed: "", on: try SQLiteConnection(path: scratch.path), handlers: nil,
      OutboxClock.system.now())
  }

  @Test func chunkByChunkAllAreRead() async throws {
    let scratch = try OutboxScratch()
    var ids = [UUID]()
    for _ in 0..<5 { ids.append(try await scratch.add()) }
    let tables = try Self.tables(scratch)
    for limit in 1...6 {
      var found = [UUID]()
      var next: Int64? = 0
      while let number = next {
        let chunk = try tables.entries(in: nil, after: number, limit: limit)
        #expect(chunk.entries.count <= limit)
        found += chunk.entries.map(\.id)
        next = chunk.last
      }
      #expect(found == ids, "\(limit) at a time")
    }
    try await scratch.storage.close()
  }

  /// SQLite does not say that a page has lost a row.
  @Test func aMutationThatIsMissingIsDamage() async throws {
    let scratch = try OutboxScratch()
    for _ in 0..<2 { try await scratch.add() }
    let tables = try Self.tables(scratch)
    #expect(try tables.entries(in: nil, after: 0, limit: 10).entries.count == 2)
    try scratch.damage("UPDATE partitions SET pending_count = 3")
    let damaged = try Self.tables(scratch)
    let error = #expect(throws: StorageError.self) {
      try damaged.entries(in: nil, after: 0, limit: 10)
    }
    #expect(error?.code == .corrupt)
    #expect(error?.message.contains("2 of 3") == true)
    try? await scratch.storage.close()
  }
}
