import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §10: a process killed in the middle of `erase()` leaves it to the next opening.
@Suite struct KilledErasingTests {
  @Test func theNextOpeningFinishesWhatAKilledProcessHasErased() async throws {
    let folder = try TemporaryFolder()
    let secret = "secret " + String(repeating: "0123456789", count: 500)
    let first = try StorageTrial(in: folder.path, partition: "account")
    first.set("a", secret)
    #expect(await first.close() == nil)
    // All that was done before the kill: the rows are gone, their bytes are not.
    let connection = try DatabaseOpener(.cache, in: folder).openWriter()
    let tables = try CacheTables(partitionNamed: "account", on: connection)
    _ = try connection.write { try tables.beginErasing() }
    try connection.close()
    #expect(try self.isFound("0123456789", in: folder))
    let trial = try StorageTrial(in: folder.path, partition: "account")
    #expect(await trial.text("a") == nil)
    #expect(try !self.isFound("0123456789", in: folder))
    trial.set("b", "new")
    #expect(await trial.close() == nil)
    let found = try DatabaseOpener(.cache, in: folder).openWriter()
    #expect(try found.pragma("SELECT is_erasing FROM partitions") == "0")
    #expect(try found.pragma("SELECT count(*) FROM entries") == "1")
    try found.close()
  }

  private func isFound(_ text: String, in folder: TemporaryFolder) throws -> Bool {
    let copy = try TemporaryFolder()
    try FolderContents.copy(folder.path, to: copy.path)
    return try FileManager.default.contentsOfDirectory(atPath: copy.path).contains { name in
      let bytes = try Data(contentsOf: URL(filePath: "\(copy.path)/\(name)"))
      return bytes.range(of: Data(text.utf8)) != nil
    }
  }
}
