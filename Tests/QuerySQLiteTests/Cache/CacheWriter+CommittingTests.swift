import StorageTestSupport
import Testing

@testable import QuerySQLite

/// What a commit finds that other processes have done.
@Suite struct CacheWriterCommittingTests {
  /// A caller of the commit would wait for all of the erasing.
  @Test func anAccountThatAnotherProcessErasesIsLeftToThatProcess() throws {
    let cache = try CacheWriterScratch()
    defer { cache.writer.stop() }
    try cache.write(0..<3)
    let other = try DatabaseOpener(kind: .cache, folder: cache.writer.opener.folder).openWriter()
    let tables = try other.write {
      try CacheTables.current(named: "", on: other).beginErasing()
    }
    try cache.write(3..<4)
    #expect(try tables.readPartition().isErasing)
    #expect(try other.rowsOfText("SELECT count(*) FROM entries") == ["4"])
    try other.close()
  }

  /// Alone, it looks for the commits of others once.
  @Test func whatOneProcessHasWrittenTakesNoMoreMemoryWithEachCommit() throws {
    let cache = try CacheWriterScratch()
    defer { cache.writer.stop() }
    for number in 0..<50 { try cache.write(number..<number + 1) }
    #expect(cache.writer.ownRevisions[""] == [1...50])
    let other = try DatabaseOpener(kind: .cache, folder: cache.writer.opener.folder).openWriter()
    try other.write {
      var changes = try CacheTables.current(named: "", on: other).begin()
      _ = try changes.write(.sample(60, count: 100), identity: .sample(60))
      _ = try changes.finish()
    }
    for number in 70..<73 { try cache.write(number..<number + 1) }
    #expect(cache.writer.ownRevisions[""]?.count == 2)
    try other.close()
  }
}
