import Foundation
import Query
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §9, for the outbox: the log is copied into the file, and a reader holds nobody up.
@Suite struct OutboxWriterMaintenanceTests {
  /// Does something on the writing thread, after what it was asked for before.
  private func onWriter<R: Sendable>(
    of scratch: OutboxScratch, _ body: @escaping @Sendable (OutboxWriter) -> R
  ) async -> R {
    await withCheckedContinuation { continuation in
      scratch.outbox.database.perform { continuation.resume(returning: body($0)) }
    }
  }

  @Test func aReaderInTheWayIsWaitedForOnceAndNotAtEachCommit() async throws {
    let scratch = try OutboxScratch { $0.checkpointFrames = 10 }
    try await scratch.add()
    let reader = try SQLiteConnection(path: scratch.path)
    try await reader.reading {
      for _ in 0..<5 { try await scratch.add() }
      let start = SuspendingClock.now
      var dues = Set<SuspendingClock.Instant?>()
      for _ in 0..<20 {
        try await scratch.add()
        dues.insert(await self.onWriter(of: scratch) { $0.blockedCheckpointDue })
      }
      // Each time that it is tried sets another one, five seconds from then on.
      #expect(!dues.contains(nil))
      #expect(dues.count <= 2 + Int(start.duration(to: .now) / .seconds(5)))
    }
    try reader.close()
    let isDone = await self.onWriter(of: scratch) { writer in
      guard let connection = writer.connection else { return false }
      writer.checkpoint(connection)
      return writer.blockedCheckpointDue == nil
    }
    #expect(isDone)
    #expect(try scratch.outbox.counts.pending == 26)
    try await scratch.storage.close()
  }
}
