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
}
