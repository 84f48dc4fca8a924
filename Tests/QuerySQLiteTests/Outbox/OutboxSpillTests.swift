import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// A mutation that is larger than the memory that SQLite has for it is written ahead of its commit.
@Suite struct OutboxSpillTests {
  @Test func whatFailsAheadOfTheCommitIsReportedAsWhatItIs() async throws {
    let vfs = FaultVFS()
    let scratch = try OutboxScratch {
      $0.vfs = vfs.name
      $0.retryDelay = .milliseconds(5)
    }
    let id = try await scratch.add()
    let large = OutboxScratch.mutation(String(repeating: "y", count: 8 << 20))
    // The disk is full.
    vfs.fail([.write], nth: 1, persistently: true, with: 13)
    let error = await #expect(throws: StorageError.self) {
      try await scratch.outbox.enqueue(large, claiming: false)
    }
    #expect(error?.code == .full)
    #expect(scratch.storage.statistics.isDegraded)
    vfs.disarm()
    let enqueued = try await scratch.outbox.enqueue(large, claiming: false)
    #expect(!scratch.storage.statistics.isDegraded)
    #expect(try scratch.outbox.entries().map(\.id) == [id, enqueued.entry.id])
    try await scratch.storage.close()
  }
}
