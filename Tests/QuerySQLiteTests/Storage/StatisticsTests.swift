import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// What a storage says of itself is of both of its files.
@Suite struct StatisticsTests {
  @Test func mutationsAreAmongTheBytesWritten() async throws {
    let scratch = try OutboxScratch()
    try await scratch.storage.set(["a": "text"])
    let before = scratch.storage.statistics.bytesWritten
    try await scratch.add(String(repeating: "text", count: 10_000))
    let after = scratch.storage.statistics.bytesWritten
    #expect(after - before > 40_000)
    try await scratch.storage.close()
  }

  @Test(arguments: [false, true])
  func itIsDegradedWithEitherOfThem(_ isOutbox: Bool) async throws {
    let scratch = try OutboxScratch { $0.retryDelay = .seconds(3_600) }
    let storage = scratch.storage
    // So that both have their threads.
    try await storage.set(["a": "text"])
    try await scratch.add()
    #expect(!storage.statistics.isDegraded)
    let error = StorageError(operation: "write", code: .full, message: "full", fileName: "")
    func onThread(_ body: @escaping @Sendable (WriteHealth) -> Void) async {
      await withCheckedContinuation { done in
        if isOutbox {
          storage.mutations.database.thread.perform { writer in
            body(writer.health)
            done.resume()
          }
        } else {
          storage.database.thread.perform { writer in
            body(writer.health)
            done.resume()
          }
        }
      }
    }
    await onThread { $0.didFail(error) }
    #expect(storage.statistics.isDegraded)
    await onThread { $0.didSucceed() }
    #expect(!storage.statistics.isDegraded)
    try await storage.close()
  }
}
