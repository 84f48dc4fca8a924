import Foundation
import QuerySQLite
import Testing

/// The tools: the commands that write do what they say, and leave the outbox as it was.
@Suite struct RemovingCommandsTests {
  @Test func anEntryIsRemoved() async throws {
    let store = try SampleStore()
    let outbox = try await store.inspect("outbox", "--json").text
    let run = try await store.inspect("remove", "c95136", "--yes")
    #expect(run.code == 0 && run.lines == ["removed c95136572e6c [\"texts\",\"plain\"]"])
    #expect(try await store.inspect("remove", "c95136", "--yes").code == 64)
    let json = try await store.inspect("remove", "[\"notes\",2]", "-y", "--json")
    #expect(json.text.contains("\"identity\":\"[\\\"notes\\\",2]\""))
    #expect(try await store.inspect("list").lines.count == 7)
    #expect(try await store.inspect("check").lines == ["all is well"])
    #expect(try await store.inspect("outbox", "--json").text == outbox)
  }

  @Test func anEntryUnderAWrongHashIsRemoved() async throws {
    let store = try SampleStore()
    let connection = try SQLiteConnection(path: "\(store.path)/cache.sqlite")
    try connection.write {
      try connection.execute("UPDATE entries SET hash = zeroblob(16) WHERE kind = 'query'")
    }
    try connection.close()
    let run = try await store.inspect("remove", "[\"texts\",\"plain\"]", "-y")
    #expect(run.code == 0 && run.lines == ["removed 000000000000 [\"texts\",\"plain\"]"])
  }

  @Test func entriesAreEvicted() async throws {
    let store = try SampleStore()
    let outbox = try await store.inspect("outbox", "--json").text
    let first = try await store.inspect("evict", "--to-entries", "6", "--yes", "--json")
    #expect(first.lines == [#"{"byteCount":71,"entries":2}"#], "\(first)")
    let second = try await store.inspect("evict", "--older-than", "1d", "-y")
    #expect(second.lines.first?.hasPrefix("removed 5 entries") == true, "\(second)")
    // It is pinned.
    let list = try await store.inspect("list")
    #expect(list.lines.count == 2 && list.lines.last?.hasSuffix("[\"notes\",1]") == true)
    #expect(try await store.inspect("vacuum", "-y").code == 0)
    #expect(try await store.inspect("check").code == 0)
    #expect(try await store.inspect("outbox", "--json").text == outbox)
  }

  @Test func theAnswerNoWritesNothing() async throws {
    let store = try SampleStore()
    let script = "script -qec '\"$TOOL\" evict --to-entries 0 -s \"$STORE\"' /dev/null <<< n"
    let shell = try await Shell.run("command -v script > /dev/null && \(script)", store)
    #expect(shell.code == 0 || shell.text.isEmpty)
    #expect(try await store.inspect("list").lines.count == 9)
  }
}
