import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// What is invalidated.
@Suite struct CacheDatabaseTests {
  /// Each would wait as long for the lock, and a flush behind all of them.
  @Test func manyInvalidationsWaitOnceForALockThatIsKept() throws {
    let cache = try CacheWriterScratch { configuration in
      configuration.busyTimeout = .milliseconds(1)
      configuration.retryDelay = .seconds(3_600)
    }
    defer { cache.writer.stop() }
    try cache.write(0..<3)
    let other = try DatabaseOpener(kind: .cache, folder: cache.writer.opener.folder).openWriter()
    try other.pragma("BEGIN IMMEDIATE")
    let prefix = try IdentityPrefix(path: ["sample"])
    for _ in 0..<20 { cache.database.invalidate(prefix, in: cache.partition) }
    #expect(cache.database.thread.count == 1)
    #expect(!cache.writer.commitUnlessRetrying())
    try other.pragma("ROLLBACK")
    // Now it could, and leaves it to the retry.
    #expect(!cache.writer.commitUnlessRetrying())
    #expect(cache.database.firstInvalidation != nil)
    cache.writer.recover()
    #expect(cache.database.firstInvalidation == nil)
    #expect(
      try other.rowsOfText("SELECT count(*) FROM entries WHERE invalidated_at > 0") == ["3"])
    try other.close()
  }

  /// One that was written is not in the way of the next.
  @Test func eachInvalidationIsWrittenSoon() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage { $0.writeDelay = .seconds(3_600) }
    for name in ["a", "b"] {
      try await storage.set([name: "stored"])
      storage.invalidate(matching: ["texts", name])
      // After what waits on the thread.
      try await storage.database.perform { _ in }
      #expect(
        try scratch.rows(
          "SELECT identity FROM entries WHERE invalidated_at > 0 ORDER BY id"
        ).last == "[\"texts\",\"\(name)\"]")
    }
    try await storage.close()
  }

  /// The caller keeps it for the next launch, which would otherwise show as fresh what is stale.
  @Test func aClosedCacheDoesNotSayThatAnInvalidationIsWritten() throws {
    let cache = try CacheWriterScratch()
    defer { cache.writer.stop() }
    cache.database.thread.stop(completion: nil)
    let prefix = try IdentityPrefix(path: ["sample"])
    let answers = Locked([Bool]())
    cache.database.invalidate([prefix], in: cache.partition, at: .now) { isWritten in
      answers.withLock { $0.append(isWritten) }
    }
    #expect(answers.withLock { $0 } == [false])
  }

  /// An empty answer would say that each value has its edits, and they would be forgotten.
  @Test func aClosedCacheDoesNotSayThatNoEditIsMissing() throws {
    let cache = try CacheWriterScratch()
    defer { cache.writer.stop() }
    cache.database.thread.stop(completion: nil)
    let answers = Locked([Int?]())
    cache.database.findMissing([], in: cache.partition) { edits in
      answers.withLock { $0.append(edits?.count) }
    }
    #expect(answers.withLock { $0 } == [nil])
  }
}
