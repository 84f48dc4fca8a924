import Foundation
import QuerySQLite
import Testing

/// The tools: of a store with several accounts each row tells which one it is of, and sizes that a damaged
/// file states stop nothing.
@Suite struct SeveralAccountsTests {
  private static func store() async throws -> SampleStore {
    let store = try SampleStore()
    let export = "\(store.path)/export.jsonl"
    #expect(try await store.inspect("export", "-o", export).code == 0)
    #expect(try await store.inspect("import", export, "-y", "-p", "other").code == 0)
    return store
  }

  @Test func whatHasEndedNamesItsAccount() async throws {
    var store = try SampleStore()
    #expect(try await !store.inspect("history").text.contains("PARTITION"))
    store = try await Self.store()
    let both = try await store.inspect("history", "--utc")
    #expect(both.code == 0)
    #expect(both.lines.first?.contains("OUTCOME    PARTITION  ATTEMPTS") == true, "\(both.lines)")
    let one = try await store.inspect("history", "-p", "")
    #expect(one.lines.first?.contains("PARTITION") == false)
  }

  @Test func anAccountThatIsNotThereIsNamed() async throws {
    let store = try SampleStore()
    let run = try await store.inspect("check", "-p", "other")
    #expect(run.code == 64 && run.lines == [])
    #expect(run.errors.first?.contains("no partition \"other\"") == true, "\(run.errors)")
  }

  @Test func impossibleSizesAreReported() async throws {
    let store = try await Self.store()
    let connection = try SQLiteConnection(path: "\(store.path)/cache.sqlite")
    try connection.write {
      try connection.execute(
        "UPDATE entries SET byte_count = 9223372036854775807, total_bytes = 9223372036854775807")
    }
    try connection.close()
    for words in [["report", "-o", "\(store.path)/report.html"], ["metrics"], ["stats"], ["list"]] {
      let run = try await InspectorRun(words + ["-s", store.path])
      #expect(run.code == 0, "\(words): \(run.errors)")
    }
  }
}
